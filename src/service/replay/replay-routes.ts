import { DAY, floorTo, MINUTE, parseTimestamp, type Window } from '../../base/time.js';
import { checkAccountAccess } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkGzip, type LiveResponse, streamConnection } from '../http/live-response.js';
import type { Faults } from '../http/planted-faults.js';
import { checkRate, connectionsExceeded } from '../http/quotas.js';
import { readDate } from '../http/read-request.js';
import { type Handler, type Route, routesOf } from '../http/router.js';
import type { Limits } from '../http/service-limits.js';
import type { ServiceContext } from '../service-context.js';
import type { ReplayInfo } from './replay-log.js';
import {
  type PostStream,
  type ReplayFaults,
  type ReplayItems,
  replayedPosts,
  sendReplay,
} from './send-replay.js';

type StreamType = PostStream | 'compliance';

const TYPES: Readonly<Record<string, StreamType>> = {
  // Requests may name this stream by the product's name, `powertrack`, or by the placeholder `rulestream`.
  rulestream: 'rulestream',
  powertrack: 'rulestream',
  sample10: 'sample10',
  firehose: 'firehose',
  mentions: 'mentions',
  compliance: 'compliance',
};

/**
 * Returns the routes for replays of all streams. The checks are, in order:
 * 1. the credentials: 401;
 * 2. type, account, publisher and label: 404;
 * 3. the rate of connection requests, including failed ones: 429;
 * 4. gzip, the dates, and for `rulestream` that there are rules: 406.
 */
export function replayRoutes(context: ServiceContext): readonly Route[] {
  const { settings, quotas, rules } = context;
  const { account, publisher, streamLabel: label } = settings;
  const connects = [quotas.window('replayConnectRate')];
  const pattern = '/replay/:type/accounts/:account/publishers/:publisher/:label.json';
  const family = { endpoint: 'replay', errorBody: messageErrorBody } as const;
  return routesOf(family, { [pattern]: { GET: connect } }, async incoming => {
    checkAccountAccess(incoming, settings, { account, publisher, label });
    const { path, url } = incoming;
    const type = Object.hasOwn(TYPES, path.type ?? '') ? TYPES[path.type as string] : undefined;
    if (type === undefined)
      throw new HttpProblem(404, `Not Found: there is no stream of the type '${path.type}'`);
    checkRate(connects, connectionsExceeded);
    checkGzip(incoming);
    const window = replayWindow(url.searchParams, context.clock.now(), settings.limits);
    await rules.open();
    if (type === 'rulestream' && rules.size === 0)
      throw new HttpProblem(
        406,
        'There are no rules for this stream. Add rules before connecting.',
      );
    return { context, type, window };
  });
}

interface AcceptedReplay {
  readonly context: ServiceContext;
  readonly type: StreamType;
  readonly window: Window;
}

const connect: Handler<AcceptedReplay> = (incoming, accepted) => {
  const { context, type, window } = accepted;
  const { settings, usage, rules } = context;
  const { url, signal } = incoming;
  const token = {};
  if (type === 'rulestream') rules.connected.add(token);
  const release = () => rules.connected.delete(token);
  signal.addEventListener('abort', release);
  const feed = async (live: LiveResponse, stop: AbortSignal) => {
    const logEnd = context.replays.begin(type, window);
    let end: ReplayInfo | undefined;
    try {
      end = await sendReplay(live, source(accepted, stop), {
        context,
        window,
        signal: stop,
        onSent: ids => {
          if (type === 'compliance') return;
          usage.delivered(type, ids);
          incoming.countPosts(ids.length);
        },
        faults: faultsOf(window, url.pathname + url.search, context.faults),
      });
    } finally {
      logEnd(end);
    }
    // A client may change the rules as soon as the response ends, so the rules are released before that.
    release();
  };
  const stream = streamConnection(incoming, context, settings.streamLabel, feed);
  return { status: 200, body: [], live: stream };
};

async function* source(
  { context, type, window }: AcceptedReplay,
  signal: AbortSignal,
): ReplayItems {
  const { archive, compliance, rules } = context;
  if (type === 'compliance') yield* compliance.replayed(window, signal);
  else yield* replayedPosts(await archive(), window, type, rules.all(), signal);
}

function faultsOf(window: Window, pathAndQuery: string, faults: Faults): ReplayFaults {
  const isWithin = (minute: string) => {
    const ms = parseTimestamp(minute) as number;
    return ms >= window.from && ms < window.to;
  };
  const unprocessed = faults.matchStream('unprocessed-range', 'replay', pathAndQuery, fault =>
    isWithin(fault.fromDate),
  );
  return {
    unprocessed,
    // The last message of a replay names either failed minutes or an unprocessed range, never both. An
    // `unprocessed-range` fault therefore disables the `minutes-failed` fault.
    failed:
      unprocessed === undefined
        ? faults.matchStream('minutes-failed', 'replay', pathAndQuery, fault =>
            fault.minutes.some(isWithin),
          )
        : undefined,
    activityCountOff: faults.matchStream('wrong-count', 'replay', pathAndQuery)?.by ?? 0,
    flood: faults.matchStream('flood', 'replay', pathAndQuery) !== undefined,
  };
}

/** @throws HttpProblem 406 with all problems of the dates. */
function replayWindow(parameters: URLSearchParams, now: number, limits: Limits): Window {
  const problems: string[] = [];
  const earliest = floorTo(MINUTE, now - limits.replayReachMs);
  const dateOf = (name: string, ageMs: number): number => {
    const bounds = {
      earliest,
      tooEarly: `Can't ask for tweets from more than ${limits.replayReachMs / DAY} days ago.`,
      latest: now - ageMs,
      tooLate: `Can't ask for tweets from within the past ${ageMs / MINUTE} minutes.`,
    };
    const what = `query parameter '${name}'`;
    const ms = readDate(parameters.get(name) ?? '', what, bounds, problems);
    // The real service has two line ends after this problem.
    if (ms === undefined) problems.push('\n');
    return ms ?? 0;
  };
  const from = dateOf('fromDate', limits.replayFromAgeMs);
  const to = dateOf('toDate', limits.replayToAgeMs);
  if (problems.length === 0 && from >= to)
    problems.push("Invalid date for query parameter 'fromDate'. It must be before 'toDate'.");
  if (problems.length > 0) throw new HttpProblem(406, problems.join('\n'));
  return { from, to };
}
