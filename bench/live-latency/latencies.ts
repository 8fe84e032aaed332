/** How long messages were under way, milliseconds, until all have come. */
export class Latencies {
  readonly #all: number[] = [];
  readonly #wanted: number;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** Returns whether that was the last. */
  add(sent: number): boolean {
    this.#all.push(performance.timeOrigin + performance.now() - sent);
    if (this.#all.length < this.#wanted) return false;
    process.send?.(this.#all);
    return true;
  }
}
