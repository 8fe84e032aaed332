/** Sequences of a stream, or positions of messages: `from`, `to` and all between them. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The sequences from `from` to `to` that are not among those that were read. */
export function lostWithin(from: number, to: number, read: Iterable<number>): Range[] {
  const lost: Range[] = [];
  let next = from;
  for (const sequence of read) {
    if (sequence > to) break;
    if (sequence > next) lost.push({ from: next, to: sequence - 1 });
    next = sequence + 1;
  }
  if (next <= to) lost.push({ from: next, to });
  return lost;
}

/** The ranges that ascending sequences form. */
export function rangesOf(sequences: readonly number[]): Range[] {
  const ranges: Range[] = [];
  let [from, to] = [0, -1];
  for (const sequence of sequences) {
    if (sequence === to + 1) ranges.pop();
    else from = sequence;
    to = sequence;
    ranges.push({ from, to });
  }
  return ranges;
}

/** A set of positions as JSON: the position after the highest one, then the ranges below it that are not in the set. */
export type PositionSetJson = readonly [next: number, ...missing: (readonly [number, number])[]];

/** A set of whole numbers from 0 that come nearly in order. It stores only the highest number and which ones below it are missing. */
export class PositionSet {
  #next: number;
  #missing: Range[];

  constructor([next, ...missing]: PositionSetJson = [0]) {
    this.#next = next;
    this.#missing = missing.map(([from, to]) => ({ from, to }));
  }

  /** The position after the highest. */
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

/** The parts of a range that are before another range and after it. */
function without({ from, to }: Range, other: Range): Range[] {
  return [
    { from, to: Math.min(to, other.from - 1) },
    { from: Math.max(from, other.to + 1), to },
  ].filter(range => range.from <= range.to);
}
