import { setTimeout } from 'node:timers/promises';
import { floorTo, MINUTE, parseTimestamp, SECOND, type Window } from '../../time.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { MinutesFailedFault, UnprocessedRangeFault } from '../http/fault-kinds.js';
import type { LiveResponse } from '../http/live-response.js';
import { infoMessage, type ReplayEnd } from './replay-log.js';
import type { ReplayItems } from './replayed-posts.js';

export interface ReplayOptions {
  readonly window: Window;
  readonly postsPerSecond: number;
  readonly signal: AbortSignal;
  now(): number;
  onError(error: unknown): void;
  /** Called with the ids of sent posts, in batches. */
  onSent(ids: readonly string[]): void;
  readonly faults: ReplayFaults;
}

export interface ReplayFaults {
  readonly failed: MinutesFailedFault | undefined;
  readonly unprocessed: UnprocessedRangeFault | undefined;
  /** Added to the reported number of messages. */
  readonly activityCountOff: number;
  /** Whether messages are sent without waiting for the client to read. */
  readonly flood: boolean;
}

/** Ids in a batch of `onSent`. */
const SENT_BATCH = 500;

/**
 * Sends the messages of a replay and one of the three `info` messages that end it.
 *
 * @returns What the last message said; undefined if the connection ended before it.
 */
export async function replay(
  live: LiveResponse,
  items: ReplayItems,
  options: ReplayOptions,
): Promise<ReplayEnd | undefined> {
  const { window, faults, signal, now, onSent } = options;
  const failed = new Set(faults.failed?.minutes.map(minute => parseTimestamp(minute) as number));
  const stop = faults.unprocessed && (parseTimestamp(faults.unprocessed.fromDate) as number);
  const pacer = new Pacer(options.postsPerSecond, signal);
  const work = new EventLoopYield();
  let activityCount = 0;
  const sent: string[] = [];
  let unprocessed: Window | undefined;
  /** Start of the current minute. */
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
        // `part` sends every second message of a minute.
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
    // The client asks again for what the archive failed to read.
    options.onError(error);
    unprocessed = { from: minute, to: window.to };
  } finally {
    onSent(sent);
  }
  if (stop !== undefined) unprocessed ??= { from: stop, to: window.to };
  const minutesFailed = [...failed]
    .filter(start => start >= window.from && start < window.to)
    .sort((a, b) => a - b);
  const end: ReplayEnd = {
    sent: now(),
    activityCount: activityCount + faults.activityCountOff,
    minutesFailed,
    unprocessed,
  };
  const isSent = live.isOpen;
  live.push(infoMessage(end));
  live.end();
  return isSent ? end : undefined;
}

/** Milliseconds of delay that are caught up by sending faster. */
const MAX_CATCH_UP_MS = 20;

/**
 * Spaces messages evenly in real time. Longer delays of the service itself are not caught up: a burst
 * could overflow the buffer of the connection.
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

  /** Called after a message: waits until the next is due. */
  async wait(): Promise<void> {
    const due = this.#startedAt + (++this.#sent / this.#perSecond) * SECOND;
    const waitMs = due - performance.now();
    this.#startedAt += Math.max(0, -waitMs - MAX_CATCH_UP_MS);
    if (waitMs >= 1) await setTimeout(waitMs, undefined, { signal: this.#signal });
  }
}
