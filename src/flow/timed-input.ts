/** Reads an input one value at a time, each with a time until which it is waited for. */
export class TimedInput<T> {
  readonly #iterator: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | undefined;
  #ended = false;

  constructor(input: AsyncIterable<T>) {
    this.#iterator = input[Symbol.asyncIterator]();
  }

  /**
   * The next value, or `late` where it has not come by that time of `performance.now()`: a later call then gets it.
   *
   * @param time Without it, the value is waited for without end.
   */
  async next(time?: number): Promise<IteratorResult<T> | 'late'> {
    this.#next ??= this.#iterator.next();
    // An error is thrown when it is waited for; until then it must not end the process.
    this.#next.catch(() => {});
    if (time !== undefined && !(await isBefore(this.#next, time))) return 'late';
    const next = this.#next;
    this.#next = undefined;
    // An input that has thrown has ended, too.
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

/** Whether a promise settles before a time of `performance.now()`. */
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
