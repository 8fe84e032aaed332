interface BatchRun<T> {
  readonly ended: boolean;
  next(): Promise<IteratorResult<{ readonly items: readonly T[] }, undefined>>;
  return(): Promise<unknown>;
}

/** The items of a run, one at a time. Calls of `next` that overlap are answered in order. */
export class FlowItems<T> implements AsyncIterator<T, undefined> {
  readonly #run: BatchRun<T>;
  #items: readonly T[] = [];
  #index = 0;
  #pending = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: BatchRun<T>) {
    this.#run = run;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#pending === 0 && !this.#run.ended && this.#index < this.#items.length)
      return Promise.resolve({ done: false, value: this.#items[this.#index++] as T });
    this.#pending++;
    const result = this.#last.then(() => this.#take()).finally(() => this.#pending--);
    this.#last = result.catch(() => {});
    return result;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    await this.#run.return();
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<T, undefined>> {
    // After an abort in the middle of a batch, the rest of the batch is not delivered.
    while (this.#run.ended || this.#index >= this.#items.length) {
      const result = await this.#run.next();
      if (result.done) return { done: true, value: undefined };
      this.#items = result.value.items;
      this.#index = 0;
    }
    return { done: false, value: this.#items[this.#index++] as T };
  }
}
