interface BatchRun<T> {
  readonly ended: boolean;
  next(): Promise<IteratorResult<{ readonly items: readonly T[] }, undefined>>;
  return(): Promise<unknown>;
}

/**
 * The items of a run, one at a time. Calls of `next` that overlap are answered in order. Calls `onEnd` once
 * it is read to its end, has failed or is closed.
 */
export class FlowItems<T> implements AsyncIterator<T, undefined> {
  readonly #run: BatchRun<T>;
  #items: readonly T[] = [];
  #index = 0;
  #pending = 0;
  #last: Promise<unknown> = Promise.resolve();

  readonly #onEnd: () => void;

  constructor(run: BatchRun<T>, onEnd: () => void) {
    this.#run = run;
    this.#onEnd = onEnd;
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
    try {
      await this.#run.return();
    } finally {
      this.#onEnd();
    }
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<T, undefined>> {
    // After an abort in the middle of a batch, the rest of the batch is not delivered.
    while (this.#run.ended || this.#index >= this.#items.length) {
      const result = await this.#nextBatch();
      if (result.done) return { done: true, value: undefined };
      this.#items = result.value.items;
      this.#index = 0;
    }
    return { done: false, value: this.#items[this.#index++] as T };
  }

  async #nextBatch(): ReturnType<BatchRun<T>['next']> {
    let isOver = true;
    try {
      const result = await this.#run.next();
      isOver = result.done === true;
      return result;
    } finally {
      if (isOver) this.#onEnd();
    }
  }
}
