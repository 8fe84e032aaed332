import { setTimeout as delay } from 'node:timers/promises';
import type { MillraceError } from './errors.js';

/** The longest delay of Node's timers. A timer with a longer delay fires after 1 ms, with a warning. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Resolves after `ms` milliseconds, which may exceed the limit of Node's timers. Rejects with the signal's
 * reason on an abort.
 */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    for (let left = ms; left > 0; left -= MAX_TIMER_MS)
      await delay(Math.min(left, MAX_TIMER_MS), undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
  signal?.throwIfAborted();
}

/** A wait of a source or of the operator `throttle`, for messages and progress. */
export interface Wait {
  /**
   * The reason for the wait:
   * - `rate limit`: the service accepts a limited number of requests in a span of time;
   * - `connect limit`: the service accepts a limited number of connections in a span of time;
   * - `too recent`: the service replays minutes only once they are 30 minutes old;
   * - `retry`: a request or connection failed;
   * - `servers`: the servers that hold a stream are unreachable, have no leader or have no space, and the run
   *   retries;
   * - `throttle`: the operator `throttle` delays items.
   */
  readonly reason: 'rate limit' | 'connect limit' | 'too recent' | 'retry' | 'servers' | 'throttle';
  /**
   * Set for `rate limit` and `connect limit`: the account option that sets the limit, such as
   * `limits.replay`.
   */
  readonly setting?: string | undefined;
  /**
   * The end of the wait, by the service's clock. If `reason` is `servers`, the time at which the run gives
   * up.
   */
  readonly until: Date;
  /** The length of the wait, in milliseconds. */
  readonly waitMs: number;
  /** Set for `retry` and `servers`: the failure that is followed by a retry. */
  readonly error?: MillraceError | undefined;
  /** Set for `retry` and `servers`: which retry follows the wait, counted from 1. */
  readonly retry?: number | undefined;
}

/** Called when a wait begins. Returns a function that is called when the wait ends. */
export type OnWait = (wait: Wait) => () => void;

/**
 * Lets one reader sleep until there may be something to read. If nobody waits, a call of `wake` has no
 * effect. The reader must therefore look for input first, then call `next` in the same turn of the event
 * loop.
 */
export class WakeUp {
  #resolve: () => void = () => {};

  next(): Promise<void> {
    return new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    this.#resolve();
  }
}

/**
 * Returns how long to wait before the next attempt, in milliseconds. The longest wait doubles with each
 * failure, from `firstMs` up to `maxMs`. The result is random, but at least half the longest wait: a wait of
 * 3 ms would give a failing service no pause.
 *
 * @param failures the number of consecutive failed attempts, at least 1
 * @param random a number from 0 (inclusive) to 1 (exclusive)
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, random }: { firstMs: number; maxMs: number; random: number },
): number {
  return jittered(Math.min(maxMs, firstMs * 2 ** (failures - 1)), random);
}

/**
 * Returns a random wait between half of `longestMs` and all of it, so that clients that failed
 * together do not retry together.
 */
export function jittered(longestMs: number, random: number): number {
  return longestMs * (0.5 + random / 2);
}
