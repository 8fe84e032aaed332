import { abortable } from './abortable.js';
import { WakeUp } from './wait.js';

/**
 * A bounded queue from any number of producers to one reader, in order. A producer waits with `add` or `room`
 * while the channel is full. The reader waits with `ready`, then takes items, or it reads `batches`.
 *
 * A producer waits after it has added its items, so each producer may exceed the limit by one `add`.
 */
export class Channel<T> {
  readonly #limit: number;
  readonly #weigh: (item: T) => number;
  #items: T[] = [];
  #weight = 0;
  #isPoked = false;
  #end: { readonly error?: unknown } | undefined;
  readonly #reader = new WakeUp();
  #producers: (() => void)[] = [];

  /**
   * @param limit the weight at which the channel is full
   * @param weigh returns the weight of an item; by default, each item weighs 1
   */
  constructor(limit: number, weigh: (item: T) => number = () => 1) {
    this.#limit = limit;
    this.#weigh = weigh;
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  get isFull(): boolean {
    return this.isOpen && this.#weight >= this.#limit;
  }

  /** Appends an item without waiting. Drops it if the channel has ended. */
  push(item: T): void {
    if (!this.isOpen) return;
    this.#items.push(item);
    this.#weight += this.#weigh(item);
    this.#reader.wake();
  }

  async room(): Promise<void> {
    while (this.isFull) await new Promise<void>(resolve => this.#producers.push(resolve));
  }

  /**
   * Appends items, then waits for room. Drops them if the channel has ended.
   *
   * @throws the error that was passed to `fail`, so that no producer counts these items as delivered
   */
  async add(items: readonly T[]): Promise<void> {
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    for (const item of items) this.push(item);
    if (items.length > 0) await this.room();
  }

  /** Wakes the reader even if there is no item: the next call of `ready` resolves to `true`. */
  poke(): void {
    this.#isPoked = true;
    this.#reader.wake();
  }

  /**
   * Ends the channel. The reader still gets the items in the channel. Producers that are waiting continue.
   */
  end(): void {
    this.#finish({});
  }

  /**
   * Ends the channel with an error, which the reader gets after the items that the channel holds.
   *
   * @param dropsItems if true, the items are dropped and the reader gets the error immediately
   */
  fail(error: unknown, { dropsItems = false } = {}): void {
    if (dropsItems && this.isOpen) this.takeAll();
    this.#finish({ error });
  }

  /**
   * Resolves to `true` when there are items or the channel was poked, and to `false` at the end.
   *
   * @throws the error that was passed to `fail`, or the reason of the signal
   */
  async ready(signal?: AbortSignal): Promise<boolean> {
    while (this.#items.length === 0 && !this.#isPoked) {
      if (this.#end === undefined) await abortable(this.#reader.next(), signal);
      else if ('error' in this.#end) throw this.#end.error;
      else return false;
    }
    return true;
  }

  /** The next item. It stays in the channel, and its weight counts, until `shift` removes it. */
  get first(): T | undefined {
    return this.#items[0];
  }

  shift(): T | undefined {
    if (this.#items.length === 0) return undefined;
    const item = this.#items.shift() as T;
    this.#weight -= this.#weigh(item);
    this.#wakeProducers();
    return item;
  }

  takeAll(): readonly T[] {
    const items = this.#items;
    this.#items = [];
    this.#weight = 0;
    this.#isPoked = false;
    this.#wakeProducers();
    return items;
  }

  /** Yields all items that have arrived since the last batch. Ends the channel when the reader stops. */
  async *batches(): AsyncGenerator<readonly T[], void, undefined> {
    try {
      while (await this.ready()) yield this.takeAll();
    } finally {
      this.end();
    }
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#reader.wake();
    this.#wakeProducers();
  }

  #wakeProducers(): void {
    for (const wake of this.#producers.splice(0)) wake();
  }
}
