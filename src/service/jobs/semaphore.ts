interface Waiter {
  readonly at: number;
  readonly acquired: (at: number) => void;
}

/** Limits how many hold it at a time; the others queue. Instants are those of the service's clock. */
export class Semaphore {
  #free: number;
  readonly #queue: Waiter[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether `acquire` would have to wait. */
  get isFull(): boolean {
    return this.#free === 0;
  }

  /**
   * Calls back with the instant of the acquisition, synchronously if it is free.
   *
   * @param at When it is asked for.
   */
  acquire(at: number, acquired: (at: number) => void): void {
    if (this.#free > 0) {
      this.#free--;
      acquired(at);
    } else this.#queue.push({ at, acquired });
  }

  /** Hands it to the next in the queue. */
  release(at: number): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free++;
    else next.acquired(Math.max(next.at, at));
  }
}
