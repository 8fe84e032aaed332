import { SECOND } from '../base/time.js';
import { sleep } from '../base/wait.js';

/** The clock and random numbers of an account's calls, so that a test can control both. */
export interface Timing {
  /** The wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds, independent of the wall clock. */
  elapsed(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason on an abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a number from 0 inclusive to 1 exclusive. */
  random(): number;
}

export const realTime: Timing = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  random: () => Math.random(),
  sleep,
};

/**
 * The service's time: this machine's clock, corrected by the `Date` of the service's responses. It decides
 * what lies in a window that the service checks by its own clock.
 */
export class ServiceClock {
  readonly #timing: Pick<Timing, 'now'>;
  readonly #given: (() => number) | undefined;
  #offsetMs = 0;
  #responses = 0;

  /** @param given Returns the service's time, if it is known because the service runs in this process. */
  constructor(timing: Pick<Timing, 'now'>, given?: () => number) {
    this.#timing = timing;
    this.#given = given;
  }

  /** How many responses it has learned from. */
  get responses(): number {
    return this.#responses;
  }

  /** Whether this process has the service's clock itself. */
  get isGiven(): boolean {
    return this.#given !== undefined;
  }

  /**
   * Whether the time is given, or a response has come after these many. Before that, `now` is of this machine or
   * of a service whose clock may have been moved since, and may be far off: nothing is to be refused because of it.
   */
  isKnownSince(responses: number): boolean {
    return this.isGiven || this.#responses > responses;
  }

  /** Epoch milliseconds. */
  now(): number {
    return this.#given?.() ?? this.#timing.now() + this.#offsetMs;
  }

  /**
   * Learns from a response that begins now.
   *
   * @param date its `Date` header
   * @param sentAt when its request was sent, by this machine's clock
   */
  learn(date: string | undefined, sentAt: number): void {
    this.#responses++;
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at)) return;
    // The header has whole seconds, and was written at some time between sending and arrival. An
    // offset that agrees with it stays, so that a correct clock is not changed.
    const min = at - this.#timing.now();
    const max = at + SECOND - sentAt;
    if (this.#offsetMs < min || this.#offsetMs > max) this.#offsetMs = Math.round((min + max) / 2);
  }
}
