import { LinkedAbort } from '../base/abortable.js';
import { checkValue, made, required } from '../base/check.js';
import { formatTimestamp, MINUTE, parseTimestamp } from '../base/time.js';
import { type Flow, sourceFlow } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import {
  type ProductUsage,
  type UsageOptions,
  type UsageReport,
  type UsageSpan,
  usage,
  usageUrl,
} from './usage-report.js';

/** One row of a usage report: the usage of one product, or of a whole publisher, in one period. */
export interface UsageRow {
  readonly publisher: string;
  /**
   * The name of the product, or `null` for the publisher as a whole. In the row for the publisher, an activity
   * that two products delivered is counted once.
   */
  readonly product: string | null;
  /** The period: `2024-05`, or `2024-05-31` in a report by day. */
  readonly period: string;
  /**
   * The first minute, inclusive: `YYYYMMDDHHMM`, UTC. The first and last periods of a report may be partial.
   */
  readonly fromDate: string;
  /** The end, exclusive: `YYYYMMDDHHMM`, UTC. */
  readonly toDate: string;
  readonly activities: number;
  readonly requests: number | null;
  /** The projected number of activities in the month. Set only for the current month. */
  readonly projected: number | null;
  /** The monthly limit in the contract, in the unit given by `thresholdOf`. */
  readonly threshold: number | null;
  readonly thresholdOf: 'activities' | 'requests' | null;
  /** The number of activities per month at which the service warns the account. */
  readonly alert: number | null;
}

export const REPORT = required(
  made<UsageReport>('the usage report', 'what `await usage.report()` gives', [
    'account',
    'publishers',
  ]),
);

/**
 * Converts a usage report to rows. For each publisher, the rows for the whole publisher come first, then the
 * rows for its products.
 *
 * @throws OptionError If `report` is not a usage report.
 * @example
 * console.table(usage.table(await usage.report(account())));
 */
export function usageTable(report: UsageReport): UsageRow[] {
  checkValue('usage.table', 'report', REPORT, report);
  return report.publishers.flatMap(publisher => [
    ...rowsOf(report, publisher.name, null, publisher),
    ...publisher.products.flatMap(product => rowsOf(report, publisher.name, product.name, product)),
  ]);
}

export function capOf(product: ProductUsage): Pick<UsageRow, 'threshold' | 'thresholdOf'> {
  for (const thresholdOf of ['activities', 'requests'] as const) {
    const threshold = lowest(product, 'cap', thresholdOf);
    if (threshold !== null) return { threshold, thresholdOf };
  }
  return { threshold: null, thresholdOf: null };
}

export function alertOf(product: ProductUsage): number | null {
  return lowest(product, 'alert', 'activities');
}

export function periodOf(bucket: string, { fromDate }: UsageSpan): string {
  const month = `${fromDate.slice(0, 4)}-${fromDate.slice(4, 6)}`;
  return bucket === 'day' ? `${month}-${fromDate.slice(6, 8)}` : month;
}

export function projectedIn(span: UsageSpan, { projected }: ProductUsage): number | undefined {
  if (projected === undefined) return undefined;
  // `projected.toDate` is the end of a month, so the minute before it is in that month.
  const lastMinute = formatTimestamp((parseTimestamp(projected.toDate) ?? 0) - MINUTE);
  const isSameMonth = span.fromDate.slice(0, 6) === lastMinute.slice(0, 6);
  return isSameMonth ? projected.activities : undefined;
}

function rowsOf(
  { bucket }: UsageReport,
  publisher: string,
  product: string | null,
  usage: ProductUsage,
): UsageRow[] {
  return usage.used.map(span => ({
    publisher,
    product,
    period: periodOf(bucket, span),
    fromDate: span.fromDate,
    toDate: span.toDate,
    activities: span.activities,
    requests: span.requests ?? null,
    projected: projectedIn(span, usage) ?? null,
    ...capOf(usage),
    alert: alertOf(usage),
  }));
}

function lowest(
  { thresholds }: ProductUsage,
  type: 'alert' | 'cap',
  of: 'activities' | 'requests',
): number | null {
  const amounts = thresholds
    .filter(threshold => threshold.type === type)
    .map(threshold => threshold[of])
    .filter(amount => amount !== undefined);
  return amounts.length === 0 ? null : Math.min(...amounts);
}

/**
 * Delivers the usage of the account as a flow of rows. Each publisher, and each of its products, has a row
 * for each period. A row includes the monthly limit in the contract and the projection for the current month.
 *
 * @throws OptionError immediately, for invalid options. The flow throws HttpError, ConnectionError or
 *   DataError.
 * @example
 * await pipeline(usage.rows(account(), { bucket: 'day' }), files({ path: 'usage.jsonl' }));
 */
export function usageRows(account: Account, options: UsageOptions = {}): Flow<UsageRow> {
  const url = usageUrl('usage.rows', account, options);
  const step = { step: 'usageRows', report: url.pathname + url.search, ...account.serviceAt(url) };
  return sourceFlow(step, async function* ({ signal, progress }) {
    const linked = new LinkedAbort(signal, options.signal);
    const report = usage(account.withProgress(progress), { ...options, signal: linked.signal });
    const items = usageTable(await report.finally(() => linked.unlink()));
    if (progress !== undefined) progress.received += items.length;
    yield { items };
  });
}
