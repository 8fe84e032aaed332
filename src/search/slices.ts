import {
  DAY,
  FIRST_POST,
  floorTo,
  formatTimestamp,
  MINUTE,
  parseTimestamp,
  type Window,
} from '../time.js';
import { type EchoedWindow, fetchPage } from './fetch-page.js';
import { MIN_RESULTS, type Params, type Product, type Query, SPAN_30DAY } from './query.js';

/** The dates of a request that has both. */
export interface Dates {
  readonly fromDate: string;
  readonly toDate: string;
}

/** The requests of a query, newest first: a single one, or one for each slice. */
export async function requestsOf(
  query: Query,
  window: EchoedWindow,
  signal: AbortSignal,
): Promise<readonly Params[]> {
  const { account, params, product, slices } = query;
  if (slices === 1) return [params];
  // A resumed run slices the same window as the first one, independent of the current time.
  const given = { ...params, ...window } as Params;
  const isGiven = given.fromDate !== undefined && given.toDate !== undefined;
  // The service decides the limits of an open window, because its clock may differ.
  const smallest = { ...params, maxResults: MIN_RESULTS };
  const ignore = () => undefined;
  const echoed = isGiven ? {} : (await fetchPage(query, smallest, ignore, signal)).window;
  const dates = resolveDates(given, echoed, product, account.clock.now());
  return sliceDates(dates, slices).map(slice => ({ ...params, ...slice }));
}

/** The window that all slices cover together. */
export function windowOf(slices: readonly Params[]): EchoedWindow {
  return { fromDate: String(slices.at(-1)?.fromDate), toDate: String(slices[0]?.toDate) };
}

/**
 * The dates of a request that may omit some: those that the service echoed, or else its defaults at
 * this time: 30 days, but not before the start of the product.
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
  // The start of 30day moves with the time that passes until the oldest slice is requested.
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
 * Splits a window into `count` windows of whole minutes with about the same length, newest first.
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
