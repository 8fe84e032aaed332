import type { Range } from './lost-sequences.js';

/** As JSON: the position behind the highest, then the ranges below it that are not in the set. */
export type PositionSetJson = readonly [next: number, ...missing: (readonly [number, number])[]];

/** Whole numbers from 0 that come nearly in order. It remembers only which ones below the highest are missing. */
export class PositionSet {
  #next: number;
  #missing: Range[];

  constructor([next, ...missing]: PositionSetJson = [0]) {
    this.#next = next;
    this.#missing = missing.map(([from, to]) => ({ from, to }));
  }

  /** The position behind the highest. */
  get next(): number {
    return this.#next;
  }

  /** All positions below this one are in the set. */
  get wholeUntil(): number {
    return this.#missing[0]?.from ?? this.#next;
  }

  /** Adds a position, and says whether it is new. */
  add(position: number): boolean {
    if (position >= this.#next) {
      if (position > this.#next) this.#missing.push({ from: this.#next, to: position - 1 });
      this.#next = position + 1;
      return true;
    }
    const index = this.#missing.findIndex(({ from, to }) => from <= position && position <= to);
    const range = this.#missing[index];
    if (range === undefined) return false;
    this.#missing.splice(index, 1, ...without(range, { from: position, to: position }));
    return true;
  }

  /** Adds what is missing of a range below the highest position. */
  fill(range: Range): void {
    this.#missing = this.#missing.flatMap(one => without(one, range));
  }

  /** The positions from `from` on and below `end`, at most the highest, that are not in the set. */
  missing(from = 0, end = this.#next): Range[] {
    return this.#missing
      .map(range => ({ from: Math.max(range.from, from), to: Math.min(range.to, end - 1) }))
      .filter(range => range.from <= range.to);
  }

  toJSON(): PositionSetJson {
    return [this.#next, ...this.#missing.map(({ from, to }) => [from, to] as const)];
  }
}

/** What of a range is in front of another one and behind it. */
function without({ from, to }: Range, other: Range): Range[] {
  return [
    { from, to: Math.min(to, other.from - 1) },
    { from: Math.max(from, other.to + 1), to },
  ].filter(range => range.from <= range.to);
}
