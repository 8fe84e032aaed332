import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work between two yields. */
const WORK_MS = 10;

/**
 * Yields to the event loop during long work, so that other requests are served meanwhile.
 *
 * @example
 * const work = new EventLoopYield(signal);
 * for (const post of posts) {
 *   if (work.isDue) await work.pause();
 *   ...
 * }
 */
export class EventLoopYield {
  readonly signal: AbortSignal | undefined;
  #began = performance.now();

  /** @param signal Ends the work: `pause` throws its reason. */
  constructor(signal?: AbortSignal) {
    this.signal = signal;
  }

  /** Whether `pause` would yield. Cheap: for loops that cannot afford an `await` per item. */
  get isDue(): boolean {
    return performance.now() - this.#began > WORK_MS;
  }

  /** Yields when that is due. */
  async pause(): Promise<void> {
    if (this.isDue) {
      await setImmediate();
      this.#began = performance.now();
    }
    this.signal?.throwIfAborted();
  }
}
