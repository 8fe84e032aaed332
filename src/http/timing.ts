import { SECOND } from '../base/time.js';
import { sleep } from '../base/wait.js';

/** The clock and the random numbers of an account's calls, so that a test can control both. */
export interface Timing {
  /** The wall clock, in epoch milliseconds. */
  now(): number;
  /** A monotonic clock in milliseconds, independent of the wall clock. */
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
 * The service's time, which is this machine's clock, corrected by the `Date` of the service's responses. Used
 * for windows that the service checks by its own clock.
 */
export class ServiceClock {
  readonly #timing: Pick<Timing, 'now'>;
  readonly #given: (() => number) | undefined;
  #offsetMs = 0;
  #responses = 0;

  /** @param given Returns the service's time, if the service runs in this process. */
  constructor(timing: Pick<Timing, 'now'>, given?: () => number) {
    this.#timing = timing;
    this.#given = given;
  }

  /** The number of responses that have set the clock. */
  get responses(): number {
    return this.#responses;
  }

  /** Whether the service's clock itself is available in this process. */
  get isGiven(): boolean {
    return this.#given !== undefined;
  }

  /**
   * Whether the time is given, or more responses have arrived than `responses`. Before that, `now`
   * may be far off, because it comes from this machine, or from a service whose clock was moved
   * since. Nothing must be refused because of it.
   */
  isKnownSince(responses: number): boolean {
    return this.isGiven || this.#responses > responses;
  }

  /** The service's time in epoch milliseconds. */
  now(): number {
    return this.#given?.() ?? this.#timing.now() + this.#offsetMs;
  }

  /**
   * Sets the clock from a response that begins now.
   *
   * @param date its `Date` header
   * @param sentAt the time when its request was sent, by this machine's clock
   */
  learn(date: string | undefined, sentAt: number): void {
    this.#responses++;
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at)) return;
    // The header has whole seconds, and was written at some time between sending and arrival. If the current offset
    // agrees with it, it stays, so that a correct clock is not changed.
    const min = at - this.#timing.now();
    const max = at + SECOND - sentAt;
    if (this.#offsetMs < min || this.#offsetMs > max) this.#offsetMs = Math.round((min + max) / 2);
  }
}
