import { answerOf } from '../base/abortable.js';
import { IncompleteError } from '../base/errors.js';
import { DAY, type Dates, floorTo, formatTimestamp, MINUTE, parseTimestamp } from '../base/time.js';
import type { Cursor } from '../flow/flow.js';
import { learnServiceTime } from '../http/request.js';
import { type Params, type Query, type QueryGap, SPAN_30DAY } from './query.js';
import type { QueryPosition } from './query-cursor.js';

/**
 * The age at which a post counts as searchable. Posts are searchable after about 30 s, so this is a safe
 * margin.
 */
const SEARCHABLE_AFTER = MINUTE;

/**
 * Returns the end of the window of a run that starts now. All posts before this time are already searchable.
 * The time is rounded down to the minute, or for counts to the start of a bucket.
 */
function endOfRun({ account, runsEndAt = MINUTE }: Query): string {
  return formatTimestamp(floorTo(runsEndAt, account.clock.now() - SEARCHABLE_AFTER));
}

/**
 * Returns the window of an incremental run. It starts at the end of the last complete run, or at `fromDate`
 * in the first run, and ends at the newest searchable minute. Calls `onGap` for minutes that are too old for
 * the product.
 *
 * @throws IncompleteError if minutes are too old and there is no `onGap`.
 */
export async function nextWindow(
  query: Query,
  last: QueryPosition,
  cursor: Cursor | undefined,
  signal: AbortSignal,
): Promise<Dates> {
  const { params } = query;
  const toDate = endOfRun(query);
  // The first request must have both dates. Without a date, the service would use its default, which changes
  // before further pages are requested.
  const default30 = () => formatTimestamp((parseTimestamp(toDate) ?? 0) - 30 * DAY);
  if (!last.done) return { fromDate: String(params.fromDate ?? default30()), toDate };
  const fromDate = String(last.window.toDate);
  const earliest = earliestDate(query);
  if (earliest === undefined || fromDate >= earliest) return { fromDate, toDate };
  const gap = { fromDate, toDate: earliest, reason: 'expired' } as const;
  const what = `The last complete run of this ${query.source} ended at ${fromDate}`;
  await reportGap(query, gap, what, { cursor, signal });
  return { fromDate: earliest, toDate };
}

/**
 * Sets the account's clock to the time of the service, if no response has done so since the start of the run.
 *
 * @param responses The value of `clock.responses` at the start of the run.
 */
export function learnTime(
  { account }: Query,
  responses: number,
  signal: AbortSignal,
): Promise<void> {
  return learnServiceTime(account, 'baseUrl', { responses, signal });
}

/**
 * Returns the oldest date that `30day` still has, rounded up to the minute, or to a whole bucket for counts.
 * Returns `undefined` for other products.
 */
function earliestDate({ product, account, runsEndAt = MINUTE }: Query): string | undefined {
  if (product !== '30day') return undefined;
  // The start of `30day` moves forward every minute. The added minute keeps this date valid until the
  // last page is requested.
  const oldest = account.clock.now() - SPAN_30DAY + MINUTE;
  return formatTimestamp(floorTo(runsEndAt, oldest + runsEndAt - 1));
}

/**
 * Removes the minutes that `30day` no longer has from the requests of a window that an earlier incremental
 * run has started and not finished. A request whose first page was received keeps its dates, because all
 * pages of a request must have the same dates.
 *
 * @param requests The requests for the whole window, newest first.
 * @returns The requests that are left, and the minutes that were removed.
 */
export function withoutExpired(
  query: Query,
  requests: readonly Params[],
  { slice, next, oldest }: Pick<QueryPosition, 'slice' | 'next' | 'oldest'>,
): { readonly left: readonly Params[]; readonly gap: QueryGap | undefined } {
  const begun = next === undefined ? slice : slice + 1;
  const earliest = earliestDate(query) ?? '';
  const left = requests.flatMap((request, index) => {
    if (index === slice && index < begun && oldest !== undefined)
      return [{ ...request, fromDate: oldest }];
    if (index < begun || String(request.fromDate) >= earliest) return [request];
    return String(request.toDate) > earliest ? [{ ...request, fromDate: earliest }] : [];
  });
  const fromDate = String(requests.at(-1)?.fromDate);
  const rest = requests[begun];
  if (rest === undefined || fromDate >= earliest) return { left, gap: undefined };
  const end = String(rest.toDate);
  const isAllLost = end < earliest;
  return { left, gap: { fromDate, toDate: isAllLost ? end : earliest, reason: 'expired' } };
}

/**
 * Calls `onGap`.
 *
 * @param what How the gap came about, for the message.
 * @throws IncompleteError if there is no `onGap`.
 */
export async function reportGap(
  { onGap }: Query,
  gap: QueryGap,
  what: string,
  { cursor, signal }: { readonly cursor: Cursor | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const { fromDate, toDate } = gap;
  if (onGap === undefined)
    throw new IncompleteError(
      `${what}, and 30day no longer has the minutes from ${fromDate} to ${toDate}. Fetch them with product fullarchive, and pass \`onGap\` so that this continues after them`,
      { missing: [`${fromDate} to ${toDate}`], cursor },
    );
  await answerOf(onGap(gap), signal);
}
