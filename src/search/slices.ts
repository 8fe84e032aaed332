import {
  DAY,
  FIRST_POST,
  floorTo,
  formatTimestamp,
  MINUTE,
  parseTimestamp,
  type Window,
} from '../time.js';
import type { EchoedWindow } from './page.js';
import { type Params, type Product, SPAN_30DAY } from './query.js';

/** Dates of a request that says them both. */
export interface Dates {
  readonly fromDate: string;
  readonly toDate: string;
}

/**
 * The dates of a request that may leave some out: those that the service echoed, or else what it would
 * take at this time. It goes back 30 days, and no further than the product does (4.1 rules 1 and 6).
 */
export function resolveDates(
  given: Params,
  echoed: EchoedWindow,
  product: Product,
  now: number,
): Dates {
  const to = dateOf(given.toDate ?? echoed.toDate) ?? floorTo(MINUTE, now);
  const back = to - 30 * DAY;
  const earliest = product === '30day' ? floorTo(MINUTE, now - SPAN_30DAY) : FIRST_POST;
  const from = dateOf(echoed.fromDate) ?? Math.max(back, earliest);
  // 30day begins a minute later with each minute that passes until the oldest slice is requested.
  const margin = product === '30day' && from > back ? MINUTE : 0;
  return {
    fromDate: String(given.fromDate ?? formatTimestamp(Math.min(from + margin, to - MINUTE))),
    toDate: formatTimestamp(to),
  };
}

function dateOf(date: Params[string] | undefined): number | undefined {
  return date === undefined ? undefined : parseTimestamp(String(date));
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
