/**
 * Requests up to `ahead` results of a generator before they are read. An async generator queues
 * overlapping calls of `next`, so its work is still done one call after the other.
 */
export class ReadAhead<T> {
  readonly #input: AsyncGenerator<T, void, undefined>;
  readonly #ahead: number;
  readonly #coming: Promise<IteratorResult<T, void>>[] = [];

  constructor(input: AsyncGenerator<T, void, undefined>, ahead: number) {
    this.#input = input;
    this.#ahead = ahead;
  }

  /** Begins to read without waiting for a reader. */
  fill(): void {
    while (this.#coming.length < this.#ahead) {
      const result = this.#input.next();
      // The failure is thrown when the result is read; until then it must not end the process.
      result.catch(() => {});
      this.#coming.push(result);
    }
  }

  async *read(): AsyncGenerator<T, void, undefined> {
    while (true) {
      this.fill();
      const result = await this.#coming.shift();
      if (result === undefined || result.done) return;
      this.fill();
      yield result.value;
    }
  }
}
