import type { Window } from '../../time.js';
import { parseTimestamp } from '../../time.js';
import type { Compliance } from '../compliance/compliance.js';
import type { ServiceContext } from '../context.js';
import { checkRate, connectionsExceeded } from '../http/check-rate.js';
import { checkGzip, checkStreamPath } from '../http/check-stream.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import type { RequestContext, Route } from '../http/router.js';
import { streamConnection } from '../http/stream-connection.js';
import type { ReplayEnd } from './info-message.js';
import { type ReplayFaults, replay } from './replay.js';
import type { ReplayLog } from './replay-log.js';
import { replayWindow } from './replay-window.js';
import { type PostStream, type ReplayItems, replayedPosts } from './replayed-posts.js';
import type { StreamRules } from './stream-rules.js';

type StreamType = PostStream | 'compliance';

const TYPES: Readonly<Record<string, StreamType>> = {
  // `rulestream` stands for the name of the product; this is what clients know it as.
  rulestream: 'rulestream',
  powertrack: 'rulestream',
  sample10: 'sample10',
  firehose: 'firehose',
  mentions: 'mentions',
  compliance: 'compliance',
};

export interface ReplayParts {
  readonly rules: StreamRules;
  readonly compliance: Compliance;
  /** The replays of `rulestream` under way, one token each. */
  readonly connected: Set<object>;
  readonly log: ReplayLog;
}

/**
 * Replay of all streams (service.md 4.3). The order of checks:
 * 1. the credentials: 401;
 * 2. type, account, publisher and label: 404;
 * 3. the rate of connection requests, each of which counts: 429;
 * 4. gzip, the dates, and for `rulestream` that there are rules: 406.
 */
export function replayRoutes(
  context: ServiceContext,
  { rules, compliance, connected, log }: ReplayParts,
): readonly Route[] {
  const { settings, clock, faults } = context;
  const connects = [context.quotas.window('replayConnectRate')];

  const source = async function* (
    type: StreamType,
    window: Window,
    signal: AbortSignal,
  ): ReplayItems {
    if (type === 'compliance') yield* compliance.replayed(window, signal);
    else yield* replayedPosts(await context.archive(), window, type, rules.all(), signal);
  };

  const met = (window: Window, pathAndQuery: string): ReplayFaults => {
    const isWithin = (minute: string) => {
      const ms = parseTimestamp(minute) as number;
      return ms >= window.from && ms < window.to;
    };
    const unprocessed = faults.matchStream('unprocessed-range', 'replay', pathAndQuery, fault =>
      isWithin(fault.fromDate),
    );
    return {
      unprocessed,
      // That ending names no failed minutes; they would be lost.
      failed:
        unprocessed === undefined
          ? faults.matchStream('minutes-failed', 'replay', pathAndQuery, fault =>
              fault.minutes.some(isWithin),
            )
          : undefined,
      countedWrong: faults.matchStream('wrong-count', 'replay', pathAndQuery)?.by ?? 0,
      flood: faults.matchStream('flood', 'replay', pathAndQuery) !== undefined,
    };
  };

  const route: Route = {
    endpoint: 'replay',
    methods: ['GET'],
    pattern: '/replay/:type/accounts/:account/publishers/:publisher/:label.json',
    errorBody: messageErrorBody,
    async handle(incoming: RequestContext) {
      checkStreamPath(incoming, settings, settings.streamLabel);
      const { path, url, signal } = incoming;
      const type = Object.hasOwn(TYPES, path.type ?? '') ? TYPES[path.type as string] : undefined;
      if (type === undefined)
        throw new HttpProblem(404, `Not Found: there is no stream of the type '${path.type}'`);
      checkRate(connects, connectionsExceeded);
      checkGzip(incoming);
      const window = replayWindow(url.searchParams, clock.now(), settings.limits);
      await rules.open();
      if (type === 'rulestream' && rules.size === 0)
        throw new HttpProblem(
          406,
          'There are no rules for this stream. Add rules before connecting.',
        );

      const token = {};
      if (type === 'rulestream') connected.add(token);
      const release = () => connected.delete(token);
      signal.addEventListener('abort', release);
      const live = streamConnection(incoming, context, settings.streamLabel, async (wire, stop) => {
        const ended = log.begin(type, window);
        let end: ReplayEnd | undefined;
        try {
          end = await replay(wire, source(type, window, stop), {
            window,
            postsPerSecond: settings.replayPostsPerSecond,
            signal: stop,
            now: () => clock.now(),
            onError: settings.onError,
            onSent: ids => {
              if (type !== 'compliance') context.usage.delivered(type, ids);
            },
            faults: met(window, url.pathname + url.search),
          });
        } finally {
          ended(end);
        }
        // Before the consumer can see that the stream has ended.
        release();
      });
      return { status: 200, body: [], live };
    },
  };
  return [route];
}
