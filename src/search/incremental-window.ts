import { answerOf } from '../base/abortable.js';
import { IncompleteError } from '../base/errors.js';
import { DAY, type Dates, floorTo, formatTimestamp, MINUTE, parseTimestamp } from '../base/time.js';
import type { Cursor } from '../flow/flow.js';
import { type Query, SPAN_30DAY } from './query.js';
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
  const { params, product, account, runsEndAt = MINUTE, onGap } = query;
  const toDate = endOfRun(query);
  // The first request must have both dates. Without a date, the service would use its default, which changes
  // before further pages are requested.
  const default30 = () => formatTimestamp((parseTimestamp(toDate) ?? 0) - 30 * DAY);
  if (!last.done) return { fromDate: String(params.fromDate ?? default30()), toDate };
  const fromDate = String(last.window.toDate);
  if (product !== '30day') return { fromDate, toDate };
  // The start of `30day` moves forward every minute. The added minute keeps `earliest` valid until the last
  // page is requested.
  const oldest = account.clock.now() - SPAN_30DAY + MINUTE;
  const earliest = formatTimestamp(floorTo(runsEndAt, oldest + runsEndAt - 1));
  if (fromDate >= earliest) return { fromDate, toDate };
  const gap = { fromDate, toDate: earliest, reason: 'expired' } as const;
  if (onGap === undefined) {
    const missing = [`${gap.fromDate} to ${gap.toDate}`];
    throw new IncompleteError(
      `The last complete run of this ${query.source} ended at ${fromDate}, and 30day no longer has the minutes from there to ${earliest}. Fetch them with product fullarchive, and pass \`onGap\` so that this continues after them`,
      { missing, cursor },
    );
  }
  await answerOf(onGap(gap), signal);
  return { fromDate: earliest, toDate };
}
