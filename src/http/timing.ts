import { SECOND } from '../base/time.js';
import { sleep } from '../base/wait.js';

/** The clock and the random numbers that an account uses. A test can replace them. */
export interface Timing {
  /** The wall clock, in epoch milliseconds. */
  now(): number;
  /** A monotonic clock in milliseconds. Changes of the wall clock do not affect it. */
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
 * The service's clock: this machine's clock, corrected by the `Date` headers of the service's responses. Used
 * for times that the service compares with its own clock.
 */
export class ServiceClock {
  readonly #timing: Pick<Timing, 'now'>;
  readonly #given: (() => number) | undefined;
  #offsetMs = 0;
  #responses = 0;

  /**
   * @param given The option `serviceTime` of `account`. If absent, the time is computed from the `Date`
   *   headers of responses.
   */
  constructor(timing: Pick<Timing, 'now'>, given?: () => number) {
    this.#timing = timing;
    this.#given = given;
  }

  get responses(): number {
    return this.#responses;
  }

  get isGiven(): boolean {
    return this.#given !== undefined;
  }

  /**
   * Whether `now` is reliable: the constructor got `given`, or a response has arrived since `responses` had
   * the given value. Otherwise, `now` may come from this machine's clock, or from a service whose clock was
   * changed after its last response. An option must not be refused because of such a time.
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
   * @param date the `Date` header of the response
   * @param sentAt when its request was sent, by this machine's clock
   */
  learn(date: string | undefined, sentAt: number): void {
    this.#responses++;
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at)) return;
    // The header has whole seconds. The service wrote it at some time between the sending of the request and
    // the arrival of the response. If the current offset agrees with the header, the offset is kept, so that
    // a correct clock is not changed.
    const min = at - this.#timing.now();
    const max = at + SECOND - sentAt;
    if (this.#offsetMs < min || this.#offsetMs > max) this.#offsetMs = Math.round((min + max) / 2);
  }
}
