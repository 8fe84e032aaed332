import { setTimeout as delay } from 'node:timers/promises';

/** The time and the dice of an account's calls, so that a test can hold both. */
export interface Timing {
  /** The wall clock, epoch milliseconds. */
  now(): number;
  /** Milliseconds that only go up, whatever is done to the wall clock. */
  elapsed(): number;
  /** Ends after `ms` milliseconds, or at once with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
}

/** What `setTimeout` can wait for; it turns longer waits into none at all. */
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
