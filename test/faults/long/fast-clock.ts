import { setTimeout as delay } from 'node:timers/promises';
import type { Timing } from '../../../src/http/timing.js';
import type { Random } from '../random.js';

/**
 * The clock shows `at` at the real time `realAt`, both in epoch milliseconds, and runs `speed` times
 * as fast as real time. If two processes have the same state, they show the same time.
 */
export interface ClockState {
  readonly at: number;
  readonly realAt: number;
  readonly speed: number;
}

export function timeOf({ at, realAt, speed }: ClockState, realNow = Date.now()): number {
  return at + (realNow - realAt) * speed;
}

/** After this time, a wait reads the clock again, because its speed may have changed. */
const LOOK_MS = 50;

/**
 * A timing for a library whose service uses this clock. The speed of the clock shortens all waits.
 */
export class FastClock implements Timing {
  readonly random: () => number;
  /** The real duration of all waits, in milliseconds. */
  waitedMs = 0;
  /** Sends a new state to the service. Resolves when the service uses it. */
  onState: (state: ClockState) => Promise<unknown> = async () => {};
  readonly #speed: number;
  readonly #waitSpeed: number;
  #state: ClockState;
  #waits = 0;

  /**
   * @param waitSpeed The speed of the clock while the library waits. Work takes its real time, so
   * tests of limits need a separate speed for waits.
   */
  constructor(
    at: number,
    { speed, waitSpeed = speed }: { readonly speed: number; readonly waitSpeed?: number },
    random: Random,
  ) {
    this.#state = { at, realAt: Date.now(), speed };
    this.#speed = speed;
    this.#waitSpeed = waitSpeed;
    this.random = random.next;
  }

  get state(): ClockState {
    return this.#state;
  }

  async runAt(speed: number): Promise<void> {
    if (speed === this.#state.speed) return;
    this.#state = { at: this.now(), realAt: Date.now(), speed };
    await this.onState(this.#state);
  }

  now(): number {
    return timeOf(this.#state);
  }

  elapsed(): number {
    return this.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const end = this.now() + ms;
    const started = performance.now();
    const changes = this.#waitSpeed !== this.#speed;
    if (changes && this.#waits++ === 0) await this.runAt(this.#waitSpeed);
    try {
      while (true) {
        signal?.throwIfAborted();
        const left = (end - this.now()) / this.#state.speed;
        if (left <= 0) return;
        // An abort is noticed at the start of the next round.
        await delay(Math.min(left, LOOK_MS), undefined, { signal }).catch(() => {});
      }
    } finally {
      if (changes && --this.#waits === 0) await this.runAt(this.#speed);
      this.waitedMs += performance.now() - started;
    }
  }
}
