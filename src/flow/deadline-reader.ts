/**
 * Reads an input one value at a time, and stops waiting for a value at a deadline. A `Channel` would read
 * ahead, but asking a flow for the next batch tells it that the previous batch was processed.
 */
export class DeadlineReader<T> {
  readonly #iterator: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | undefined;
  #ended = false;

  constructor(input: AsyncIterable<T>) {
    this.#iterator = input[Symbol.asyncIterator]();
  }

  /**
   * Returns the next value, or `late` if it has not arrived by the deadline. A later call then returns it.
   *
   * @param deadline a time of `performance.now()`; without it, waits forever
   */
  async next(deadline?: number): Promise<IteratorResult<T> | 'late'> {
    this.#next ??= this.#iterator.next();
    // The error is thrown when the value is awaited. Until then it must not end the process.
    this.#next.catch(() => {});
    if (deadline !== undefined && !(await isBefore(this.#next, deadline))) return 'late';
    const next = this.#next;
    this.#next = undefined;
    // An input that has thrown has ended.
    this.#ended = true;
    const result = await next;
    this.#ended = result.done === true;
    return result;
  }

  /** Closes an input that was not read to its end. */
  async close(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }
}

/** Resolves to whether a promise settles before a time of `performance.now()`. */
async function isBefore(promise: Promise<unknown>, time: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, Math.max(0, time - performance.now()), false);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
