import { setImmediate } from 'node:timers/promises';
import type { Timing } from '../../../src/http/timing.js';

/** Where the service's clock is, and how a wait moves it. */
export interface ClockAccess {
  now(): number;
  advance(ms: number): void | Promise<void>;
}

/** For `account`: only the service says when to wait. */
export const NO_LIMITS = {
  search: [],
  jobReads: [],
  replay: [],
  compliance: [],
  engagement: [],
};

/** Waits of the library move the service's clock, so that minutes pass in no time. */
export class TrialTiming implements Timing {
  readonly #clock: ClockAccess;
  readonly #skewMs: () => number;
  /** Of all waits. */
  #waitedMs = 0;

  /** @param skewMs How far the client's clock is ahead of the service's, each time that it is read. */
  constructor(clock: ClockAccess, skewMs = () => 0) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs();
  }

  /** Without the minutes that a trial lets pass: no message can take as long to arrive. */
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
