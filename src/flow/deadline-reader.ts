/**
 * Reads an input one value at a time, and stops waiting for a value at a deadline. Unlike a `Channel`, it
 * does not read ahead: a flow assumes that a batch has been processed when the next batch is requested.
 */
export class DeadlineReader<T> {
  readonly #iterator: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | undefined;
  #ended = false;

  constructor(input: AsyncIterable<T>) {
    this.#iterator = input[Symbol.asyncIterator]();
  }

  /**
   * Returns the next value. Returns `late` if the value has not arrived by the deadline. A later call then
   * returns that value.
   *
   * @param deadline a time of `performance.now()`; without a deadline, waits as long as necessary
   */
  async next(deadline?: number): Promise<IteratorResult<T> | 'late'> {
    this.#next ??= this.#iterator.next();
    // The error is thrown when the value is awaited below. Until then, it must not end the process as an
    // unhandled rejection.
    this.#next.catch(() => {});
    if (deadline !== undefined && !(await isBefore(this.#next, deadline))) return 'late';
    const next = this.#next;
    this.#next = undefined;
    // If the input throws, it has ended, and `close` must not call its `return`.
    this.#ended = true;
    const result = await next;
    this.#ended = result.done === true;
    return result;
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }
}

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
