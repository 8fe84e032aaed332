import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../clock.js';

/**
 * Tracks whether any task is busy. A task is not busy while it waits for an event, such as an instant of the
 * clock or the customer's decision about a quote. The event makes the task busy immediately. A caller
 * can therefore advance the clock and then call `settled` to wait until all woken tasks are idle again.
 */
export class IdleTracker {
  readonly #clock: Clock;
  #busy = 0;
  #waiters: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a task. The task counts as busy, except while it is inside `wait`. */
  async track(task: () => Promise<void>): Promise<void> {
    this.#busy++;
    try {
      await task();
    } finally {
      this.#endBusy();
    }
  }

  /**
   * Waits until `wake` is called, and resolves to its argument. Must be called inside a task of `track`,
   * which does not count as busy while it waits. If the signal fires, rejects with its reason.
   *
   * @param start Called immediately. Arranges for `wake` to be called, and may return a function that cancels
   *   this.
   */
  async wait<T>(
    signal: AbortSignal,
    start: (wake: (value: T) => void) => (() => void) | undefined,
  ): Promise<T> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      let isAwake = false;
      let isIdle = false;
      const wakeUp = (): boolean => {
        if (isAwake) return false;
        isAwake = true;
        if (isIdle) this.#busy++;
        signal.removeEventListener('abort', abort);
        return true;
      };
      const abort = () => {
        if (!wakeUp()) return;
        cancel?.();
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      const cancel = start(value => {
        if (wakeUp()) resolve(value);
      });
      if (isAwake) return;
      isIdle = true;
      this.#endBusy();
    });
  }

  /** Waits inside a tracked task until the clock has reached an instant. */
  async waitUntil(at: number, signal: AbortSignal): Promise<void> {
    if (at > this.#clock.now())
      await this.wait<void>(signal, wake => this.#clock.at(at, () => wake()));
    signal.throwIfAborted();
  }

  /**
   * Resolves when no task is busy.
   *
   * @param maxWaitMs The maximum time in milliseconds of real time. If absent, there is no limit.
   */
  async settled(maxWaitMs?: number): Promise<void> {
    if (this.#busy === 0) return;
    const settled = new Promise<void>(resolve => this.#waiters.push(resolve));
    if (maxWaitMs === undefined) return settled;
    await Promise.race([settled, setTimeout(maxWaitMs, undefined, { ref: false })]);
  }

  #endBusy(): void {
    this.#busy--;
    if (this.#busy > 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
