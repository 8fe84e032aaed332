import { WakeUp } from '../base/wait.js';

/** Items, and the state that the producers had when the items were taken. */
export interface Taken<T, S> {
  readonly items: readonly T[];
  readonly state: S;
}

/** A bounded queue from several producers to one consumer: `add` waits while it holds `limit` or more. */
export class BatchQueue<T> {
  readonly #limit: number;
  readonly #sizeOf: (item: T) => number;
  #waiting: T[] = [];
  #size = 0;
  #poked = false;
  #end: { readonly error?: unknown } | undefined;
  readonly #reader = new WakeUp();
  #wakeWriters: (() => void)[] = [];

  /** @param sizeOf what an item counts towards the limit; by default, one */
  constructor(limit: number, sizeOf: (item: T) => number = () => 1) {
    this.#limit = limit;
    this.#sizeOf = sizeOf;
  }

  /**
   * Resolves when there is room again, or when the consumer has stopped.
   *
   * @throws the error of `fail`: the items are dropped
   */
  async add(items: readonly T[]): Promise<void> {
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    if (this.#end !== undefined || items.length === 0) return;
    for (const item of items) {
      this.#waiting.push(item);
      this.#size += this.#sizeOf(item);
    }
    this.#reader.wake();
    while (this.#size >= this.#limit && this.#end === undefined)
      await new Promise<void>(resolve => this.#wakeWriters.push(resolve));
  }

  /** Wakes the consumer with the queued items, also when the queue is empty. */
  poke(): void {
    this.#poked = true;
    this.#reader.wake();
  }

  /** Ends the queue after the items it holds. */
  end(): void {
    this.#finish({});
  }

  /** Throws the error to the consumer after the items the queue holds. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  /**
   * Can be called once. When the reader stops, all producers continue, and their items are dropped.
   *
   * @param stateOf the state of the producers, taken with the items: later, they may have added others
   */
  async *read<S = undefined>(
    stateOf: () => S = () => undefined as S,
  ): AsyncGenerator<Taken<T, S>, void, undefined> {
    try {
      while (true) {
        const items = this.#waiting;
        if (items.length > 0 || this.#poked) {
          this.#poked = false;
          this.#waiting = [];
          this.#size = 0;
          const state = stateOf();
          this.#wakeAll();
          yield { items, state };
        } else if (this.#end === undefined) await this.#reader.next();
        else if ('error' in this.#end) throw this.#end.error;
        else return;
      }
    } finally {
      this.#finish({});
    }
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#reader.wake();
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wakeWriters.splice(0)) wake();
  }
}
