import { formatTimestamp, MINUTE, parseTimestamp } from '../time.js';
import type { ProductUsage, UsageReport, UsageSpan } from './usage-report.js';

/** One line of a usage report: what one product, or all of a publisher, came to in one bucket. */
export interface UsageRow {
  readonly publisher: string;
  /** `null` for the publisher as a whole, which counts an activity of two products once. */
  readonly product: string | null;
  /** `2024-05`, or `2024-05-31` of reports by day. */
  readonly period: string;
  /** `YYYYMMDDHHMM`, UTC, inclusive: a period at the edge of the report may be cut. */
  readonly fromDate: string;
  /** `YYYYMMDDHHMM`, UTC, exclusive. */
  readonly toDate: string;
  readonly activities: number;
  readonly requests: number | null;
  /** Activities that the month of this period will come to; there in the present month only. */
  readonly projected: number | null;
  /** What the contract allows in a month, of what `thresholdOf` says. */
  readonly threshold: number | null;
  readonly thresholdOf: 'activities' | 'requests' | null;
  /** Activities in a month from which on the account is warned. */
  readonly alert: number | null;
}

/** A usage report as rows: those of a publisher as a whole first, then those of its products. */
export function usageTable(report: UsageReport): UsageRow[] {
  return report.publishers.flatMap(publisher => [
    ...rowsOf(report, publisher.name, null, publisher),
    ...publisher.products.flatMap(product => rowsOf(report, publisher.name, product.name, product)),
  ]);
}

/** The cap of activities or else of requests; the lowest, of several. */
export function capOf({ thresholds }: ProductUsage): Pick<UsageRow, 'threshold' | 'thresholdOf'> {
  for (const thresholdOf of ['activities', 'requests'] as const) {
    const threshold = lowest(
      thresholds.filter(({ type }) => type === 'cap'),
      thresholdOf,
    );
    if (threshold !== null) return { threshold, thresholdOf };
  }
  return { threshold: null, thresholdOf: null };
}

/** Activities from which on the account is warned. */
export function alertOf({ thresholds }: ProductUsage): number | null {
  return lowest(
    thresholds.filter(({ type }) => type === 'alert'),
    'activities',
  );
}

/** `2024-05` or `2024-05-31`. */
export function periodOf(bucket: string, { fromDate }: UsageSpan): string {
  const month = `${fromDate.slice(0, 4)}-${fromDate.slice(4, 6)}`;
  return bucket === 'day' ? `${month}-${fromDate.slice(6, 8)}` : month;
}

/** Whether a projection, which goes to the end of a month, is of the month of this span. */
export function isProjected(span: UsageSpan, projected: UsageSpan): boolean {
  const lastMinute = formatTimestamp((parseTimestamp(projected.toDate) ?? 0) - MINUTE);
  return span.fromDate.slice(0, 6) === lastMinute.slice(0, 6);
}

function rowsOf(
  { bucket }: UsageReport,
  publisher: string,
  product: string | null,
  usage: ProductUsage,
): UsageRow[] {
  const { used, projected } = usage;
  return used.map(span => ({
    publisher,
    product,
    period: periodOf(bucket, span),
    fromDate: span.fromDate,
    toDate: span.toDate,
    activities: span.activities,
    requests: span.requests ?? null,
    projected:
      projected !== undefined && isProjected(span, projected) ? projected.activities : null,
    ...capOf(usage),
    alert: alertOf(usage),
  }));
}

function lowest(
  thresholds: ProductUsage['thresholds'],
  of: 'activities' | 'requests',
): number | null {
  const amounts = thresholds.map(threshold => threshold[of]).filter(amount => amount !== undefined);
  return amounts.length === 0 ? null : Math.min(...amounts);
}
