import { setTimeout } from 'node:timers/promises';
import { floorTo, MINUTE, parseTimestamp, SECOND, type Window } from '../../time.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { MinutesFailedFault, UnprocessedRangeFault } from '../http/fault-kinds.js';
import type { LiveResponse } from '../http/live-response.js';
import { infoMessage, type ReplayEnd } from './info-message.js';
import type { ReplayItems } from './replayed-posts.js';

export interface ReplayOptions {
  readonly window: Window;
  readonly postsPerSecond: number;
  readonly signal: AbortSignal;
  now(): number;
  onError(error: unknown): void;
  /** Told of the posts that were sent, some at a time. */
  onSent(ids: readonly string[]): void;
  readonly faults: ReplayFaults;
}

export interface ReplayFaults {
  readonly failed: MinutesFailedFault | undefined;
  readonly unprocessed: UnprocessedRangeFault | undefined;
  /** Added to the count of what was sent. */
  readonly countedWrong: number;
  /** Whether the service does not wait for the consumer. */
  readonly flood: boolean;
}

const TOLD_AT_ONCE = 500;

/**
 * Sends all of a replay, and one of its three endings (service.md 2.7, 4.3), which it gives; nothing
 * where the connection ended before.
 */
export async function replay(
  wire: LiveResponse,
  replaying: ReplayItems,
  options: ReplayOptions,
): Promise<ReplayEnd | undefined> {
  const { window, faults, signal, now, onSent } = options;
  const failed = new Set(faults.failed?.minutes.map(minute => parseTimestamp(minute) as number));
  const stop = faults.unprocessed && (parseTimestamp(faults.unprocessed.fromDate) as number);
  const pace = new Pace(options.postsPerSecond, signal);
  const work = new EventLoopYield();
  let activityCount = 0;
  const sent: string[] = [];
  let unprocessed: Window | undefined;
  /** Start of the minute that is under way. */
  let minute = window.from;

  const sendAll = async () => {
    let looked = 0;
    for await (const block of replaying)
      for (const { at, id, message } of block) {
        if (work.isDue) await work.pause();
        if (!wire.isOpen) return;
        minute = floorTo(MINUTE, at);
        const isFailing = failed.has(minute);
        const isPast = stop !== undefined && minute >= stop;
        if (isPast && (minute > stop || faults.unprocessed?.deliver !== 'part')) return;
        if (message === undefined) continue;
        // A part of a minute is every second message of it.
        if (isPast && looked++ % 2 === 1) continue;
        if (isFailing && (faults.failed?.deliver !== 'part' || looked++ % 2 === 1)) continue;
        wire.push(message);
        activityCount++;
        if (id !== undefined) sent.push(id);
        if (sent.length >= TOLD_AT_ONCE) onSent(sent.splice(0));
        if (!faults.flood) await (pace.isEndless ? wire.isAhead && wire.room() : pace.keep());
      }
  };

  try {
    await sendAll();
  } catch (error) {
    if (signal.aborted) throw error;
    // What the archive cannot give is asked for again.
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
    activityCount: activityCount + faults.countedWrong,
    minutesFailed,
    unprocessed,
  };
  const isTold = wire.isOpen;
  wire.push(infoMessage(end));
  wire.end();
  return isTold ? end : undefined;
}

/** Milliseconds that may be made up for after a delay. */
const MOST_LATE = 20;

/**
 * So many messages in a second of real time, one at a time. Time that the service itself lost is not
 * made up for: all that is due at once would be too much for any consumer.
 */
class Pace {
  readonly #perSecond: number;
  readonly #signal: AbortSignal;
  #began = performance.now();
  #sent = 0;

  constructor(perSecond: number, signal: AbortSignal) {
    this.#perSecond = perSecond;
    this.#signal = signal;
  }

  get isEndless(): boolean {
    return this.#perSecond === Number.POSITIVE_INFINITY;
  }

  /** After a message: waits until the next is due. */
  async keep(): Promise<void> {
    const due = this.#began + (++this.#sent / this.#perSecond) * SECOND;
    const wait = due - performance.now();
    this.#began += Math.max(0, -wait - MOST_LATE);
    if (wait >= 1) await setTimeout(wait, undefined, { signal: this.#signal });
  }
}
