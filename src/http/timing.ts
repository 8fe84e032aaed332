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
