import { datesOf, floorTo, MINUTE, type Window } from './time.js';

/** The parts of a window that none of `others` covers, in order. */
export function subtractRanges(window: Window, others: readonly Window[]): Window[] {
  const parts: Window[] = [];
  let from = window.from;
  for (const other of others.toSorted((a, b) => a.from - b.from)) {
    if (other.to <= from || other.from >= window.to) continue;
    if (other.from > from) parts.push({ from, to: other.from });
    from = other.to;
  }
  if (from < window.to) parts.push({ from, to: window.to });
  return parts;
}

/** The common part of two windows, if there is one. */
export function overlap(a: Window, b: Window): Window | undefined {
  const both = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
  return both.from < both.to ? both : undefined;
}

/** The smallest window of whole minutes that contains this one. */
export function wholeMinutes({ from, to }: Window): Window {
  return { from: floorTo(MINUTE, from), to: floorTo(MINUTE, to + MINUTE - 1) };
}

/** Merges adjacent ranges with the same properties. */
export function mergeRanges<T extends Window>(
  ranges: readonly T[],
  alike: (a: T, b: T) => boolean,
): T[] {
  const result: T[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && last.to >= range.from && alike(last, range))
      result[result.length - 1] = { ...last, to: Math.max(last.to, range.to) };
    else result.push(range);
  }
  return result;
}

/** A window as text for messages. */
export function shownRange(window: Window): string {
  const { fromDate, toDate } = datesOf(window);
  return `${fromDate} to ${toDate}`;
}
