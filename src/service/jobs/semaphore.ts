interface Waiting {
  readonly at: number;
  readonly enter: (at: number) => void;
}

/** So many at a time; the rest wait in line. Instants are those of the service's clock. */
export class Semaphore {
  #free: number;
  readonly #line: Waiting[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether one who came now would have to wait. */
  get isFull(): boolean {
    return this.#free === 0;
  }

  /** Calls back, at once where there is room, with the instant at which the slot was had. */
  acquire(at: number, enter: (at: number) => void): void {
    if (this.#free > 0) {
      this.#free--;
      enter(at);
    } else this.#line.push({ at, enter });
  }

  /** Hands the slot on. */
  release(at: number): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free++;
    else next.enter(Math.max(next.at, at));
  }
}
