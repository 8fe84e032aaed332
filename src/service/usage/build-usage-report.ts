import { DAY, type Dates, datesOf, floorTo, MINUTE, type Window } from '../../base/time.js';
import type { ServiceContext } from '../service-context.js';
import {
  type DayUsage,
  monthsLater,
  PRODUCT_NAMES,
  PRODUCTS,
  startOfMonth,
} from './usage-meter.js';

export type ReportBucket = 'month' | 'day';

/** The parameters of a report. Dates are starts of UTC days, in epoch milliseconds. */
export interface UsageQuery {
  readonly bucket?: ReportBucket | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface UsageItem extends Dates {
  readonly activities: number;
  /** The number of requests for posts and counts. Only for search products. */
  readonly requests?: number;
}

interface Usage {
  readonly name: string;
  readonly type: string;
  readonly used: readonly UsageItem[];
  readonly projected: UsageItem;
}

export interface ReportedProduct extends Usage {
  readonly thresholds?: readonly { readonly requests: number; readonly type: 'cap' }[];
}

export interface ReportedPublisher extends Usage {
  readonly products: readonly ReportedProduct[];
  readonly thresholds: readonly { readonly activities: number; readonly type: 'alert' | 'cap' }[];
}

export interface UsageBody extends Dates {
  readonly account: { readonly name: string; readonly status: 'active' | 'inactive' };
  readonly bucket: ReportBucket;
  /** The publishers; empty if nothing was used in the period. */
  readonly publishers: readonly ReportedPublisher[];
}

/**
 * Builds a report of the usage in a period by bucket, with a projection for the current month.
 *
 * @throws StorageError if the stored usage cannot be read.
 * @example
 * const report = await buildUsageReport(context, { bucket: 'day' });
 */
export async function buildUsageReport(
  { settings, clock, usage }: ServiceContext,
  query: UsageQuery = {},
): Promise<UsageBody> {
  const now = clock.now();
  const { bucket = 'month' } = query;
  const period = usagePeriod(query, now);
  const month = { from: startOfMonth(now), to: monthsLater(startOfMonth(now), 1) };
  const oldest = monthsLater(floorTo(DAY, now), -settings.limits.usageHistoryMonths);
  const { account, accountStatus, publisher, usageAlert, usageCap, requestCap } = settings;
  const head = {
    account: { name: account, status: accountStatus },
    bucket,
    ...datesOf(period),
  };
  // As in the real service, if `fromDate` is more than 12 months ago, there is no data.
  if (period.from < oldest) return { ...head, publishers: [] };

  const window = { from: Math.min(period.from, month.from), to: Math.max(period.to, month.to) };
  const days = await usage.days(window);
  const active = PRODUCT_NAMES.filter(name =>
    days.some(({ day, product }) => product === name && isWithin(period, day)),
  );
  if (active.length === 0) return { ...head, publishers: [] };

  // Extrapolates the usage of the month so far. At least one day counts as passed. Otherwise, the first hours
  // of a month would give huge projections.
  const passedMs = Math.max(now - month.from, DAY);
  const project = (count: number) => Math.round((count * (month.to - month.from)) / passedMs);
  const usageOf = (name: string, type: string, of: readonly DayUsage[], withRequests = false) => ({
    name,
    type,
    used: bucketsOf(period, bucket).map(span => itemOf(of, span, withRequests)),
    projected: itemOf(of, month, withRequests, project),
  });
  const products = active.map((name): ReportedProduct => {
    const { type } = PRODUCTS[name];
    const isSearch = type === 'search';
    const ofProduct = days.filter(({ product }) => product === name);
    return {
      ...usageOf(name, type, ofProduct, isSearch),
      ...(isSearch &&
        requestCap !== undefined && { thresholds: [{ requests: requestCap, type: 'cap' }] }),
    };
  });
  return {
    ...head,
    publishers: [
      {
        ...usageOf(publisher, publisher, days),
        products,
        thresholds: [
          ...(usageAlert === undefined ? [] : [{ activities: usageAlert, type: 'alert' } as const]),
          ...(usageCap === undefined ? [] : [{ activities: usageCap, type: 'cap' } as const]),
        ],
      },
    ],
  };
}

/** @param project Extrapolates a count to the whole span. By default, counts are not extrapolated. */
function itemOf(
  days: readonly DayUsage[],
  span: Window,
  withRequests: boolean,
  project = (count: number) => count,
): UsageItem {
  const within = days.filter(({ day }) => isWithin(span, day));
  const sumOf = (what: 'activities' | 'requests') =>
    project(within.reduce((sum, day) => sum + day[what], 0));
  return {
    activities: sumOf('activities'),
    ...(withRequests && { requests: sumOf('requests') }),
    ...datesOf(span),
  };
}

function isWithin({ from, to }: Window, day: number): boolean {
  return day >= from && day < to;
}

/**
 * Returns the period of a report. If `to` is today or later, the period ends with the last full UTC day. Without
 * `to`, it ends with the current minute. Without `from`, it starts two months before the month in which it ends.
 */
export function usagePeriod({ from, to }: UsageQuery, now: number): Window {
  const end = to === undefined ? floorTo(MINUTE, now) + MINUTE : Math.min(to, floorTo(DAY, now));
  const start = from ?? monthsLater(startOfMonth(end - 1), -2);
  return { from: start, to: Math.max(start, end) };
}

/** Returns the buckets of a period. The first and the last may be partial. */
export function bucketsOf({ from, to }: Window, bucket: ReportBucket): readonly Window[] {
  const buckets: Window[] = [];
  for (let start = from; start < to; ) {
    const next = bucket === 'day' ? floorTo(DAY, start) + DAY : monthsLater(startOfMonth(start), 1);
    buckets.push({ from: start, to: Math.min(next, to) });
    start = next;
  }
  return buckets;
}
