import { setTimeout as delay } from 'node:timers/promises';

/** The clock and random numbers of an account's calls, so that a test can control both. */
export interface Timing {
  /** The wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds, independent of the wall clock. */
  elapsed(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason on an abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

/**
 * The wait before try `failures + 1`: it doubles from `firstMs` to `maxMs`, and is random from half of that up. At least
 * half, because a random wait from 0 up may be only 3 ms, and a failing service needs a pause.
 *
 * @param failures tries in a row that failed, from 1
 * @param random from 0 up to 1
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, random }: { firstMs: number; maxMs: number; random: number },
): number {
  return jittered(Math.min(maxMs, firstMs * 2 ** (failures - 1)), random);
}

/** A random wait from half of `longestMs` up, so that clients which failed together do not come back together. */
export function jittered(longestMs: number, random: number): number {
  return longestMs * (0.5 + random / 2);
}

/** The longest delay of `setTimeout`, which does not wait for a longer one. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const realTime: Timing = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    try {
      for (let left = ms; left > 0; left -= LONGEST_TIMER)
        await delay(Math.min(left, LONGEST_TIMER), undefined, { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
    signal?.throwIfAborted();
  },
};
