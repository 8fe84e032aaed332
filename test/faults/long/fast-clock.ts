import { setTimeout as delay } from 'node:timers/promises';
import type { Timing } from '../../../src/http/timing.js';
import type { Random } from '../random.js';

/** A clock that runs `speed` times as fast as time, from `at` on. Two processes with it agree. */
export interface ClockState {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The real time of that, in epoch milliseconds. */
  readonly realAt: number;
  readonly speed: number;
}

export function timeOf({ at, realAt, speed }: ClockState, realNow = Date.now()): number {
  return at + (realNow - realAt) * speed;
}

/** After this time a wait looks at the clock again, which may have become faster. */
const LOOK_MS = 50;

/** The time of a library whose service has this clock: its waits end sooner, too. */
export class FastClock implements Timing {
  readonly random: () => number;
  /** Real milliseconds of all waits. */
  waitedMs = 0;
  /** Tells the service of a new state; resolves once it has it. */
  onState: (state: ClockState) => Promise<unknown> = async () => {};
  readonly #speed: number;
  readonly #waitSpeed: number;
  #state: ClockState;
  #waits = 0;

  /** @param waitSpeed The speed while the library waits, which a test of limits needs: work takes its real time. */
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
        // An abort is noticed at the start of the next turn.
        await delay(Math.min(left, LOOK_MS), undefined, { signal }).catch(() => {});
      }
    } finally {
      if (changes && --this.#waits === 0) await this.runAt(this.#speed);
      this.waitedMs += performance.now() - started;
    }
  }
}
