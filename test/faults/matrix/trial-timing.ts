import { setImmediate } from 'node:timers/promises';
import type { Timing } from '../../../src/http/timing.js';

export interface ClockAccess {
  now(): number;
  advance(ms: number): void | Promise<void>;
}

/** Options for `account` that lift its rate limits, so that only the service makes it wait. */
export const NO_LIMITS = {
  search: [],
  jobReads: [],
  replay: [],
  compliance: [],
  engagement: [],
};

/**
 * A timing in which waits of the library advance the service's clock, so that minutes pass
 * immediately.
 */
export class TrialTiming implements Timing {
  readonly #clock: ClockAccess;
  readonly #skewMs: () => number;
  #waitedMs = 0;

  /**
   * @param skewMs Returns how far the client's clock is ahead of the service's, each time the
   * client reads it.
   */
  constructor(clock: ClockAccess, skewMs = () => 0) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs();
  }

  /**
   * Returns the real time plus all waits of the library. Excludes the minutes that a trial skips on
   * the service's clock, because no message can take that long to arrive.
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
