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

/** As a message says it: `sequences 5 to 9`. */
export function shownRange({ from, to }: Range): string {
  return from === to ? `sequence ${from}` : `sequences ${from} to ${to}`;
}
