import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.js';

/**
 * Who has something to do now, and who waits: for the clock, for a slot, for a customer. Waking
 * counts at once, so that whoever asks right after the clock was moved knows that there is work.
 */
export class IdleTracker {
  readonly #clock: Clock;
  #busy = 0;
  #asking: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts as busy until it ends, but for its waits. */
  async track(work: () => Promise<void>): Promise<void> {
    this.#busy++;
    try {
      await work();
    } finally {
      this.#rest();
    }
  }

  /** Waits for whatever calls `wake`. An abort rejects with the signal's reason. */
  async wait<T>(
    signal: AbortSignal,
    arrange: (wake: (value: T) => void) => (() => void) | undefined,
  ): Promise<T> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      let awake = false;
      let resting = false;
      const wakeUp = (): boolean => {
        if (awake) return false;
        awake = true;
        if (resting) this.#busy++;
        signal.removeEventListener('abort', abort);
        return true;
      };
      const abort = () => {
        if (!wakeUp()) return;
        cancel?.();
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      const cancel = arrange(value => {
        if (wakeUp()) resolve(value);
      });
      if (awake) return;
      resting = true;
      this.#rest();
    });
  }

  /** Waits until the clock has reached an instant. */
  async waitUntil(at: number, signal: AbortSignal): Promise<void> {
    if (at > this.#clock.now())
      await this.wait<void>(signal, wake => this.#clock.at(at, () => wake()));
    signal.throwIfAborted();
  }

  /** Waits until no one has anything to do, or for so many milliseconds of real time. */
  async settled(atMostMs?: number): Promise<void> {
    if (this.#busy === 0) return;
    const settled = new Promise<void>(resolve => this.#asking.push(resolve));
    if (atMostMs === undefined) return settled;
    const patience = new AbortController();
    const over = setTimeout(atMostMs, undefined, { signal: patience.signal, ref: false });
    await Promise.race([settled, over.catch(() => {})]);
    patience.abort();
  }

  #rest(): void {
    this.#busy--;
    if (this.#busy > 0) return;
    const asking = this.#asking;
    this.#asking = [];
    for (const answer of asking) answer();
  }
}
