/**
 * What producers put in, one consumer takes out, in bounded memory: `add` waits while `limit` items
 * or more lie there.
 */
export class BatchQueue<T> {
  readonly #limit: number;
  #waiting: T[] = [];
  #poked = false;
  #end: { readonly error?: unknown } | undefined;
  #wakeReader: () => void = () => {};
  #wakeWriters: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when there is room again, or when no one will take the items any more. */
  async add(items: readonly T[]): Promise<void> {
    if (this.#end !== undefined || items.length === 0) return;
    for (const item of items) this.#waiting.push(item);
    this.#wakeReader();
    while (this.#waiting.length >= this.#limit && this.#end === undefined)
      await new Promise<void>(resolve => this.#wakeWriters.push(resolve));
  }

  /** The consumer gets what is there, even if that is nothing. */
  poke(): void {
    this.#poked = true;
    this.#wakeReader();
  }

  /** The consumer gets what is there, then the end. */
  end(): void {
    this.#finish({});
  }

  /** The consumer gets what is there, then the error. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** Can be read once. Whoever stops reading lets all producers go. */
  async *read(): AsyncGenerator<readonly T[], void, undefined> {
    try {
      while (true) {
        const items = this.#waiting;
        if (items.length > 0 || this.#poked) {
          this.#poked = false;
          this.#waiting = [];
          this.#wakeAll();
          yield items;
        } else if (this.#end === undefined)
          await new Promise<void>(resolve => {
            this.#wakeReader = resolve;
          });
        else if ('error' in this.#end) throw this.#end.error;
        else return;
      }
    } finally {
      this.#finish({});
    }
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#wakeReader();
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wakeWriters.splice(0)) wake();
  }
}
