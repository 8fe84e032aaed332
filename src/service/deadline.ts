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
