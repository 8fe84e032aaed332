import type { Window } from '../../time.js';
import { parseTimestamp } from '../../time.js';
import type { Compliance } from '../compliance/compliance.js';
import {
  CONNECTIONS_EXCEEDED,
  checkGzip,
  checkPlace,
  checkStreamRate,
} from '../http/check-stream.js';
import { connection } from '../http/connection.js';
import { messageErrorBody, Refusal } from '../http/problem.js';
import type { Exchange, Route } from '../http/router.js';
import type { ServiceContext } from '../service.js';
import type { ReplayEnd } from './info-message.js';
import { type ReplayFaults, replay } from './replay.js';
import type { ReplayLog } from './replay-log.js';
import { replayWindow } from './replay-window.js';
import { type PostStream, type Replaying, replayedPosts } from './replayed-posts.js';
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
  ): Replaying {
    if (type === 'compliance') yield* compliance.replayed(window, signal);
    else yield* replayedPosts(await context.archive(), window, type, rules.all(), signal);
  };

  const met = (window: Window, pathAndQuery: string): ReplayFaults => {
    const isWithin = (minute: string) => {
      const ms = parseTimestamp(minute) as number;
      return ms >= window.from && ms < window.to;
    };
    const unprocessed = faults.meetStream('unprocessed-range', 'replay', pathAndQuery, fault =>
      isWithin(fault.fromDate),
    );
    return {
      unprocessed,
      // That ending names no failed minutes; they would be lost.
      failed:
        unprocessed === undefined
          ? faults.meetStream('minutes-failed', 'replay', pathAndQuery, fault =>
              fault.minutes.some(isWithin),
            )
          : undefined,
      countedWrong: faults.meetStream('wrong-count', 'replay', pathAndQuery)?.by ?? 0,
      flood: faults.meetStream('flood', 'replay', pathAndQuery) !== undefined,
    };
  };

  const route: Route = {
    endpoint: 'replay',
    methods: ['GET'],
    pattern: '/replay/:type/accounts/:account/publishers/:publisher/:label.json',
    errorBody: messageErrorBody,
    async handle(exchange: Exchange) {
      checkPlace(exchange, settings, settings.streamLabel);
      const { path, url, signal } = exchange;
      const type = Object.hasOwn(TYPES, path.type ?? '') ? TYPES[path.type as string] : undefined;
      if (type === undefined)
        throw new Refusal(404, `Not Found: there is no stream of the type '${path.type}'`);
      checkStreamRate(connects, () => CONNECTIONS_EXCEEDED);
      checkGzip(exchange);
      const window = replayWindow(url.searchParams, clock.now(), settings.limits);
      await rules.open();
      if (type === 'rulestream' && rules.size === 0)
        throw new Refusal(406, 'There are no rules for this stream. Add rules before connecting.');

      const token = {};
      if (type === 'rulestream') connected.add(token);
      const release = () => connected.delete(token);
      signal.addEventListener('abort', release);
      const live = connection(exchange, context, settings.streamLabel, async (wire, stop) => {
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
