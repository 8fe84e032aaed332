import type { Progress } from './progress.js';

/**
 * The progress of several sources of one run: all count into the same counters, and the fraction is the
 * mean of theirs: 0 for a source that is not open yet, and unknown while that of an open one is.
 */
export class ProgressParts {
  readonly #progress: Progress | undefined;
  readonly #fractions: (number | undefined)[];

  constructor(progress: Progress | undefined, count: number) {
    this.#progress = progress;
    this.#fractions = Array.from({ length: count }, () => 0);
  }

  /** What a source is opened with. */
  of(index: number): Progress | undefined {
    if (this.#progress === undefined) return undefined;
    this.#set(index, undefined);
    return new Proxy(this.#progress, {
      get: (progress, name) =>
        name === 'fraction' ? this.#fractions[index] : Reflect.get(progress, name, progress),
      set: (progress, name, value) => {
        // What one source expects of itself says nothing of the others.
        if (name === 'endsAt') return true;
        if (name !== 'fraction') return Reflect.set(progress, name, value, progress);
        this.#set(index, value);
        return true;
      },
    });
  }

  done(index: number): void {
    this.#set(index, 1);
  }

  #set(index: number, fraction: number | undefined): void {
    this.#fractions[index] = fraction;
    if (this.#progress === undefined) return;
    let sum = 0;
    for (const one of this.#fractions) sum += one ?? Number.NaN;
    this.#progress.fraction = Number.isNaN(sum) ? undefined : sum / this.#fractions.length;
  }
}
