import { floorTo, HOUR, MINUTE } from '../../time.js';
import { getOrMake } from '../get-or-make.js';

/** What the overview of the console counts. */
export interface Totals {
  requests: number;
  posts: number;
  /** Jobs that were created. */
  jobs: number;
  /** Connections to streams. */
  connections: number;
}

/** Totals for each minute of the last hour, by the service's clock. */
export class MinuteTotals {
  readonly #now: () => number;
  readonly #minutes = new Map<number, Totals>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(what: keyof Totals, count = 1): void {
    const minute = floorTo(MINUTE, this.#now());
    const none = (): Totals => ({ requests: 0, posts: 0, jobs: 0, connections: 0 });
    // A clock that was moved leaves minutes that are no longer of the last hour.
    if (!this.#minutes.has(minute))
      for (const other of this.#minutes.keys())
        if (other > minute || other <= minute - HOUR) this.#minutes.delete(other);
    getOrMake(this.#minutes, minute, none)[what] += count;
  }

  /** The sums of equal parts of the last hour, oldest first. The last part ends with the current minute. */
  lastHour(what: keyof Totals, parts: number): readonly number[] {
    const end = floorTo(MINUTE, this.#now()) + MINUTE;
    const sums = new Array<number>(parts).fill(0);
    for (const [minute, totals] of this.#minutes) {
      const part = Math.floor(((minute - (end - HOUR)) / HOUR) * parts);
      if (part >= 0 && part < parts) sums[part] = (sums[part] as number) + totals[what];
    }
    return sums;
  }

  clear(): void {
    this.#minutes.clear();
  }
}
