/** Sequences of a stream, both ends included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The sequences from `from` to `to` that were not read, as ranges. */
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

/** Ascending sequences as ranges. */
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

/** As a message says it: `sequences 5 to 9`. */
export function shownRange({ from, to }: Range): string {
  return from === to ? `sequence ${from}` : `sequences ${from} to ${to}`;
}
