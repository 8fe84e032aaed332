import { setImmediate } from 'node:timers/promises';

/** The time of work between two yields to the event loop, in milliseconds. */
const WORK_MS = 10;

/**
 * The end of the queue of `pause` calls. A call of `pause` waits for this promise before it yields, so that
 * pieces of work take turns.
 */
let lastTurn: Promise<void> = Promise.resolve();

/**
 * Yields to the event loop during long work, so that other requests are served. Several pieces of work take
 * turns, and the event loop handles waiting requests between two turns.
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
  /**
   * The time at which the work last continued. The initial value makes the first `pause` yield, because many
   * pieces of work may start at once.
   */
  #began = Number.NEGATIVE_INFINITY;

  /** @param signal If it fires, `pause` throws its reason, which ends the work. */
  constructor(signal?: AbortSignal) {
    this.signal = signal;
  }

  /** Whether `pause` would yield. A cheap check for loops that cannot afford an `await` for each item. */
  get isDue(): boolean {
    return performance.now() - this.#began > WORK_MS;
  }

  async pause(): Promise<void> {
    if (this.isDue) {
      const turn = lastTurn.then(() => setImmediate());
      lastTurn = turn;
      await turn;
      this.#began = performance.now();
    }
    this.signal?.throwIfAborted();
  }
}

/** A time limit that all parts of one response share. It uses real time, not the service's clock. */
export class Deadline {
  readonly #at: number;

  constructor(ms: number = Number.POSITIVE_INFINITY) {
    this.#at = performance.now() + ms;
  }

  get isPast(): boolean {
    return this.leftMs < 0;
  }

  /** The remaining time in milliseconds; negative after the deadline. */
  get leftMs(): number {
    return this.#at - performance.now();
  }
}

/** Thrown when a `Deadline` has passed, by work that cannot return a partial result. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}
