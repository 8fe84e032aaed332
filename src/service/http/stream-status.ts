import { SECOND } from '../../base/time.js';

export interface OpenStream {
  readonly endpoint: 'replay' | 'compliance';
  readonly url: URL;
  /** The start of the connection by the service's clock, in epoch milliseconds. */
  readonly startedAt: number;
  readonly flow: StreamFlow;
}

export interface StreamFlow {
  readonly messages: number;
  /** The average number of messages per second over the last seconds. */
  readonly perSecond: number;
  /** The number of bytes that wait for the consumer. */
  readonly backlogBytes: number;
  /** The last messages, newest first. */
  readonly recent: readonly Uint8Array[];
}

const RATE_SECONDS = 5;

/** Measures the number of sent messages per second of real time. */
export class MessageRate {
  /** The number of messages in the current second and in each of the seconds before it. */
  readonly #counts = new Array<number>(RATE_SECONDS + 1).fill(0);
  readonly #now: () => number;
  readonly #startedAt: number;
  #second = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  add(): void {
    const slot = this.#slot();
    this.#counts[slot] = (this.#counts[slot] as number) + 1;
  }

  perSecond(): number {
    const slot = this.#slot();
    const whole = this.#counts.reduce((sum, count, i) => (i === slot ? sum : sum + count), 0);
    return whole / Math.max(1, Math.min(this.#second, RATE_SECONDS));
  }

  #slot(): number {
    const second = Math.floor((this.#now() - this.#startedAt) / SECOND);
    while (this.#second < second) this.#counts[++this.#second % this.#counts.length] = 0;
    return second % this.#counts.length;
  }
}
