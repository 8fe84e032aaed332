import { setImmediate } from 'node:timers/promises';
import type { Timing } from '../../../src/http/timing.js';

/** Reads the service's clock, and advances it for a wait. */
export interface ClockAccess {
  now(): number;
  advance(ms: number): void | Promise<void>;
}

/** Options for `account` without client-side limits, so that only the service makes it wait. */
export const NO_LIMITS = {
  search: [],
  jobReads: [],
  replay: [],
  compliance: [],
  engagement: [],
};

/** The library's waits advance the service's clock, so that minutes pass immediately. */
export class TrialTiming implements Timing {
  readonly #clock: ClockAccess;
  readonly #skewMs: () => number;
  /** The duration of all waits. */
  #waitedMs = 0;

  /** @param skewMs Returns how far the client's clock is ahead of the service's at each reading. */
  constructor(clock: ClockAccess, skewMs = () => 0) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs();
  }

  /**
   * Does not include the minutes that a trial skips, because no message can take that long to
   * arrive.
   */
  elapsed(): number {
    return performance.now() + this.#waitedMs;
  }

  random(): number {
    return 0.5;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.#clock.advance(ms);
    this.#waitedMs += ms;
    await setImmediate();
    signal?.throwIfAborted();
  }
}
