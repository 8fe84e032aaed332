import { DAY, floorTo, formatTimestamp, MINUTE, parseTimestamp, type Window } from '../time.js';
import type { Params } from './query.js';

/** Dates of a request that says them both. */
export interface Dates {
  readonly fromDate: string;
  readonly toDate: string;
}

/** What the service would take for dates that are left out (4.1 rule 1), on our clock. */
export function resolveDates(
  fromDate: Params[string] | undefined,
  toDate: Params[string] | undefined,
  now: number,
): Dates {
  const to = toDate === undefined ? floorTo(MINUTE, now) : parseTimestamp(String(toDate))!;
  return {
    fromDate: fromDate === undefined ? formatTimestamp(to - 30 * DAY) : String(fromDate),
    toDate: formatTimestamp(to),
  };
}

/**
 * Splits a window into `count` windows of whole minutes and about the same length, newest first.
 * Ends are exclusive and starts inclusive, so they neither overlap nor leave a gap.
 */
export function sliceDates({ fromDate, toDate }: Dates, count: number): Dates[] {
  const window: Window = { from: parseTimestamp(fromDate)!, to: parseTimestamp(toDate)! };
  const minutes = Math.round((window.to - window.from) / MINUTE);
  const slices = Math.max(1, Math.min(count, minutes));
  const edge = (i: number): string =>
    formatTimestamp(window.from + Math.floor((minutes * i) / slices) * MINUTE);
  return Array.from({ length: slices }, (_, i) => ({
    fromDate: edge(slices - i - 1),
    toDate: edge(slices - i),
  }));
}
