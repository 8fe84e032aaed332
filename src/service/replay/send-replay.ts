import { setTimeout } from 'node:timers/promises';
import { floorTo, MINUTE, parseTimestamp, SECOND, type Window } from '../../base/time.js';
import type { Activity } from '../../post/activity.js';
import { compileRules } from '../../rules/index/compile-rules.js';
import { parseRule } from '../../rules/language/parse-rule.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Archive } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { MinutesFailedFault, UnprocessedRangeFault } from '../http/fault-types.js';
import type { LiveResponse } from '../http/live-response.js';
import type { KnownRule } from '../http/rule-bodies.js';
import type { ServiceContext } from '../service-context.js';
import { infoMessage, type ReplayInfo } from './replay-log.js';

export interface SendReplayOptions {
  readonly context: ServiceContext;
  readonly window: Window;
  readonly signal: AbortSignal;
  /** Called with the ids of sent posts, in batches. */
  onSent(ids: readonly string[]): void;
  readonly faults: ReplayFaults;
}

export interface ReplayFaults {
  readonly failed: MinutesFailedFault | undefined;
  readonly unprocessed: UnprocessedRangeFault | undefined;
  /** A number that is added to the reported number of messages, for a planted fault. */
  readonly activityCountOff: number;
  /** Whether messages are sent without waiting for the client to read. */
  readonly flood: boolean;
}

const SENT_BATCH = 500;

/**
 * Sends the messages of a replay, and then an `info` message that tells whether the replay is complete.
 *
 * @returns The content of the `info` message; `undefined` if the connection was closed before that message.
 */
export async function sendReplay(
  live: LiveResponse,
  items: ReplayItems,
  options: SendReplayOptions,
): Promise<ReplayInfo | undefined> {
  const { context, window, faults, signal, onSent } = options;
  const { replayPostsPerSecond, onError } = context.settings;
  const failed = new Set(faults.failed?.minutes.map(minute => parseTimestamp(minute) as number));
  const stop = faults.unprocessed && (parseTimestamp(faults.unprocessed.fromDate) as number);
  const pacer = new Pacer(replayPostsPerSecond, signal);
  const work = new EventLoopYield();
  let activityCount = 0;
  const sent: string[] = [];
  let unprocessed: Window | undefined;
  let minute = window.from;

  const sendAll = async () => {
    let candidates = 0;
    for await (const block of items)
      for (const { at, id, message } of block) {
        if (work.isDue) await work.pause();
        if (!live.isOpen) return;
        minute = floorTo(MINUTE, at);
        const isFailing = failed.has(minute);
        const isPast = stop !== undefined && minute >= stop;
        if (isPast && (minute > stop || faults.unprocessed?.deliver !== 'part')) return;
        if (message === undefined) continue;
        // With `part`, every second message of a minute is sent.
        if (isPast && candidates++ % 2 === 1) continue;
        if (isFailing && (faults.failed?.deliver !== 'part' || candidates++ % 2 === 1)) continue;
        live.push(message);
        activityCount++;
        if (id !== undefined) sent.push(id);
        if (sent.length >= SENT_BATCH) onSent(sent.splice(0));
        if (!faults.flood) await (pacer.isUnlimited ? live.isAhead && live.room() : pacer.wait());
      }
  };

  try {
    await sendAll();
  } catch (error) {
    if (signal.aborted) throw error;
    // The archive has failed to read the rest of the window. The last message names this range, so that the
    // client requests it again.
    onError(error);
    unprocessed = { from: minute, to: window.to };
  } finally {
    onSent(sent);
  }
  if (stop !== undefined) unprocessed ??= { from: stop, to: window.to };
  const minutesFailed = [...failed]
    .filter(start => start >= window.from && start < window.to)
    .sort((a, b) => a - b);
  const end: ReplayInfo = {
    sent: context.clock.now(),
    activityCount: activityCount + faults.activityCountOff,
    minutesFailed,
    unprocessed,
  };
  const isSent = live.isOpen;
  live.push(infoMessage(end));
  live.end();
  return isSent ? end : undefined;
}

const MAX_CATCH_UP_MS = 20;

/**
 * Spaces messages evenly in real time. If messages are late, the next messages are sent without a wait, to
 * make up for at most `MAX_CATCH_UP_MS`. A longer burst could overflow the buffer of the connection.
 */
class Pacer {
  readonly #perSecond: number;
  readonly #signal: AbortSignal;
  #startedAt = performance.now();
  #sent = 0;

  constructor(perSecond: number, signal: AbortSignal) {
    this.#perSecond = perSecond;
    this.#signal = signal;
  }

  get isUnlimited(): boolean {
    return this.#perSecond === Number.POSITIVE_INFINITY;
  }

  /** Waits until the next message is due. Must be called after each message. */
  async wait(): Promise<void> {
    const due = this.#startedAt + (++this.#sent / this.#perSecond) * SECOND;
    const waitMs = due - performance.now();
    this.#startedAt += Math.max(0, -waitMs - MAX_CATCH_UP_MS);
    if (waitMs >= 1) await setTimeout(waitMs, undefined, { signal: this.#signal });
  }
}

interface ReplayItem {
  /** The time in epoch milliseconds. */
  readonly at: number;
  /** The id of a post; absent for events. */
  readonly id?: string | undefined;
  /** The message; `undefined` for a post that the stream does not send. */
  readonly message: Uint8Array | undefined;
}

/** Items in blocks, in chronological order. Items are created lazily, one at a time. */
export type ReplayItems = AsyncIterable<Iterable<ReplayItem>>;

/** The streams of posts, by their names in paths. */
export type PostStream = 'rulestream' | 'sample10' | 'firehose' | 'mentions';

export async function* replayedPosts(
  archive: Archive,
  window: Window,
  stream: PostStream,
  rules: readonly KnownRule[],
  signal: AbortSignal,
): AsyncGenerator<Iterable<ReplayItem>> {
  const message = messageOf(stream, rules);
  for await (const { posts } of archive.scan(window, { signal }))
    yield (function* () {
      for (const { at, id, activity } of posts) yield { at, id, message: message(activity) };
    })();
}

type MessageOf = (activity: Activity) => Uint8Array | undefined;

function messageOf(stream: PostStream, rules: readonly KnownRule[]): MessageOf {
  if (stream === 'rulestream') {
    const matcher = compileRules(rules, { product: 'replay' });
    return activity => {
      const matches = matcher.match(activity);
      return matches.length === 0 ? undefined : activity.withMatchingRules(matches).raw;
    };
  }
  if (stream === 'firehose') return withoutRules;
  const matches = compileRule(treeOf(stream === 'sample10' ? 'sample:10' : 'has:mentions'), {
    product: 'replay',
  });
  return activity => (matches(activity) ? withoutRules(activity) : undefined);
}

/**
 * Returns the bytes of a post without matching rules. A post that was read from the data file of a job still has
 * the rules of that job.
 */
function withoutRules(activity: Activity): Uint8Array {
  return activity.matchingRules.length === 0 ? activity.raw : activity.withMatchingRules([]).raw;
}

/**
 * Parses a rule that the service itself uses. Unlike a customer's rule, it needs no operator that can stand
 * alone.
 */
function treeOf(rule: string): RuleNode {
  const { tree } = parseRule(rule);
  if (tree === undefined) throw new TypeError(`Not a rule: ${rule}`);
  return tree;
}
