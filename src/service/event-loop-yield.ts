import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work between two yields. */
const WORK_MS = 10;

/** Resolves when the last of the works that wait has had its turn. */
let lastTurn: Promise<void> = Promise.resolve();

/**
 * Yields to the event loop during long work, so that other requests are served. Several pieces of work take turns, and
 * the event loop serves waiting requests between any two turns.
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
  /** When the work went on. The first `pause` always yields, because many works may begin at once. */
  #began = Number.NEGATIVE_INFINITY;

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
      const turn = lastTurn.then(() => setImmediate());
      lastTurn = turn;
      await turn;
      this.#began = performance.now();
    }
    this.signal?.throwIfAborted();
  }
}

/** A limit of real time that all parts of one answer share. */
export class Deadline {
  readonly #at: number;

  constructor(ms: number = Number.POSITIVE_INFINITY) {
    this.#at = performance.now() + ms;
  }

  get isPast(): boolean {
    return this.leftMs < 0;
  }

  /** Negative after the deadline. */
  get leftMs(): number {
    return this.#at - performance.now();
  }
}

/** Thrown by work that has no answer in parts. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}
