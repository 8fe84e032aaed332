import { DAY, floorTo, formatTimestamp, MINUTE, parseTimestamp, type Window } from '../../time.js';
import type { Limits } from '../http/service-limits.js';

export type Product = '30day' | 'fullarchive';

export function isProduct(name: string): name is Product {
  return name === '30day' || name === 'fullarchive';
}

export interface SearchDates {
  readonly fromDate: string | undefined;
  readonly toDate: string | undefined;
}

/**
 * The window of the dates of a request at an instant, or their problems. Without
 * `toDate` it ends at that instant, without `fromDate` it starts 30 days before its end.
 */
export function searchWindow(
  { fromDate, toDate }: SearchDates,
  product: Product,
  asOf: number,
  limits: Limits,
): { readonly window: Window; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const earliest =
    product === '30day' ? floorTo(MINUTE, asOf - limits.thirtyDaySpanMs) : limits.searchEarliest;

  const given = (name: string, text: string | undefined): number | undefined => {
    if (text === undefined) return undefined;
    const ms = parseTimestamp(text);
    if (ms === undefined)
      problems.push(
        `Invalid date format for query parameter '${name}'. Expected format is 'yyyyMMddHHmm'. ` +
          "For example, '201701012315' for January 1st, 11:15 pm 2017 UTC.",
      );
    else if (ms > asOf)
      problems.push(
        `Invalid date for query parameter '${name}'. Can't ask for activities from the future.`,
      );
    else if (ms < earliest)
      problems.push(
        `Invalid date for query parameter '${name}'. ` +
          `The product ${product} begins at ${formatTimestamp(earliest)}.`,
      );
    return ms;
  };

  const from = given('fromDate', fromDate);
  // To the second: only the echo of the window is floored to the minute.
  const to = given('toDate', toDate) ?? asOf;
  if (problems.length === 0 && from !== undefined && from >= to)
    problems.push("Invalid date for query parameter 'fromDate'. It must be before 'toDate'.");
  const thirtyDaysBefore = Math.max(floorTo(MINUTE, to - 30 * DAY), earliest);
  return { window: { from: from ?? thirtyDaysBefore, to }, problems };
}
