import { SECOND } from '../time.js';
import type { Timing } from './timing.js';

/**
 * The service's time: this machine's clock, corrected by the `Date` of the service's responses. It decides
 * what lies in a window that the service checks by its own clock.
 */
export class ServiceClock {
  readonly #timing: Pick<Timing, 'now'>;
  readonly #given: (() => number) | undefined;
  #offsetMs = 0;
  #heard = false;

  /** @param given The service's time where it is known, as that of a service in this process. */
  constructor(timing: Pick<Timing, 'now'>, given?: () => number) {
    this.#timing = timing;
    this.#given = given;
  }

  /** Whether a response has come. Before that, `now` is this machine's clock and may be far off. */
  get isKnown(): boolean {
    return this.#heard || this.#given !== undefined;
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
    this.#heard = true;
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at)) return;
    // The header has whole seconds, and was written at some time between sending and arrival. An
    // offset that agrees with it stays, so that a correct clock is not changed.
    const min = at - this.#timing.now();
    const max = at + SECOND - sentAt;
    if (this.#offsetMs < min || this.#offsetMs > max) this.#offsetMs = Math.round((min + max) / 2);
  }
}
