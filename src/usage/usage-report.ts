import { date, type OptionTable, oneOf, optionError, signal } from '../base/check.js';
import { formatTimestamp, parseDate, parseTimestamp, type Timestamp } from '../base/time.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { JsonMembers, readJson } from '../http/read-json.js';
import { request } from '../http/request.js';
import { serviceUrl } from '../http/service-url.js';

/** The length of the periods in a report. */
export type UsageBucket = 'month' | 'day';

/** Options of `usage.report`: the start and the end of the report, and the length of its periods. */
export interface UsageOptions {
  /** Whether the report is by month or by day. @default 'month' */
  readonly bucket?: UsageBucket | undefined;
  /**
   * The first day, inclusive, in UTC. Hours and minutes are ignored. The service keeps usage for 12 months.
   * @default the start of the month two months before the month in which the report ends
   */
  readonly fromDate?: Timestamp | undefined;
  /**
   * The end of the report, exclusive, in UTC. If it is today or later, the report ends with the last full
   * day.
   * @default now
   */
  readonly toDate?: Timestamp | undefined;
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The usage in a time span, or the projected usage. */
export interface UsageSpan {
  /**
   * The number of activities. An activity that was delivered both in real time and by replay is counted once
   * per UTC day.
   */
  readonly activities: number;
  /** The number of requests to search products, if the service reports it. */
  readonly requests?: number | undefined;
  /** The first minute, inclusive: `YYYYMMDDHHMM`, UTC. */
  readonly fromDate: string;
  /** The end, exclusive: `YYYYMMDDHHMM`, UTC. */
  readonly toDate: string;
}

/** A number of activities or requests that the contract sets as an alert or a cap. */
export interface UsageThreshold {
  readonly type: 'alert' | 'cap' | (string & {});
  readonly activities?: number | undefined;
  readonly requests?: number | undefined;
}

/** The usage of one product, by period. */
export interface ProductUsage {
  readonly name: string;
  /** The type of the product, such as `search` or `rulestream`. */
  readonly type: string;
  /** The usage in each period, in chronological order. */
  readonly used: readonly UsageSpan[];
  /** The projected usage until the end of the current month. */
  readonly projected?: UsageSpan | undefined;
  readonly thresholds: readonly UsageThreshold[];
}

/** The usage of one publisher, in total and by product. */
export interface PublisherUsage extends ProductUsage {
  readonly products: readonly ProductUsage[];
}

/** The usage of an account by publisher, product and period, with thresholds and a projection. */
export interface UsageReport {
  readonly account: {
    readonly name: string;
    readonly status: 'active' | 'inactive' | (string & {});
  };
  readonly bucket: UsageBucket | (string & {});
  /** The first minute of the reported time, inclusive: `YYYYMMDDHHMM`, UTC. */
  readonly fromDate: string;
  /** The end of the reported time, exclusive: `YYYYMMDDHHMM`, UTC. */
  readonly toDate: string;
  /** The publishers that had active products in the reported time. */
  readonly publishers: readonly PublisherUsage[];
}

export const USAGE_OPTIONS = {
  bucket: oneOf('the length of a period', ['month', 'day']),
  fromDate: date('the first day'),
  toDate: date('the day after the last'),
  signal: signal(),
} satisfies OptionTable<UsageOptions>;

/**
 * Requests the usage of the account by month or day, with a projection for the current month. Sends at most 2
 * requests per minute; further calls wait. The numbers may differ from those on invoices. If `fromDate` is
 * more than 12 months ago, the report is empty.
 *
 * `usage.rows` delivers the report as rows for files, and `usage.chart` formats it as a chart for a terminal.
 *
 * @throws OptionError for invalid options, such as a window without a whole day.
 * @throws HttpError, ConnectionError, DataError
 * @example
 * const report = await usage.report(account(), { bucket: 'day', fromDate: '202410010000' });
 * console.log(usage.chart(report));
 */
export async function usage(account: Account, options: UsageOptions = {}): Promise<UsageReport> {
  const url = usageUrl('usage.report', account, options);
  const { signal } = options;
  return request(account, { method: 'GET', url, family: 'usage', signal }, async response =>
    parseReport(new JsonMembers(await readJson(response), 'a usage report', response.url)),
  );
}

export function usageUrl(call: string, account: Account, options: UsageOptions): URL {
  const { bucket, fromDate, toDate } = checkAccountOptions(call, account, USAGE_OPTIONS, options);
  const url = serviceUrl(account, 'accountApiUrl', 'accounts/{account}/usage.json', {
    purpose: 'usage reports',
  });
  const [from, to] = [dayOf(fromDate), dayOf(toDate)];
  if (from !== undefined && to !== undefined && from >= to)
    throw optionError(
      call,
      'fromDate',
      `must be a day before \`toDate\`: both count by whole UTC days, and are ${from} and ${to}`,
    );
  for (const [parameter, value] of Object.entries({ bucket, fromDate: from, toDate: to }))
    if (value !== undefined) url.searchParams.set(parameter, value);
  return url;
}

/**
 * Returns a date with its hour and minute set to 0. The service ignores them, so errors and results should
 * show the requested days.
 */
function dayOf(date: Timestamp | undefined): string | undefined {
  const ms = date === undefined ? undefined : parseDate(date);
  return ms === undefined ? undefined : `${formatTimestamp(ms).slice(0, 8)}0000`;
}

function parseReport(report: JsonMembers): UsageReport {
  const account = report.object('account') ?? report.refuse('account', 'an object');
  return {
    account: { name: account.needText('name'), status: account.needText('status') },
    bucket: report.needText('bucket'),
    fromDate: report.needText('fromDate'),
    toDate: report.needText('toDate'),
    publishers: report.objects('publishers').map(publisher => ({
      ...parseProduct(publisher),
      products: publisher.objects('products').map(parseProduct),
    })),
  };
}

function parseProduct(product: JsonMembers): ProductUsage {
  const projected = product.object('projected');
  return {
    name: product.needText('name'),
    type: product.needText('type'),
    used: product.objects('used').map(parseSpan),
    projected: projected && parseSpan(projected),
    thresholds: product.objects('thresholds').map(threshold => ({
      type: threshold.needText('type'),
      activities: threshold.number('activities'),
      requests: threshold.number('requests'),
    })),
  };
}

function parseSpan(span: JsonMembers): UsageSpan {
  const fromDate = dateOf(span, 'fromDate');
  const toDate = dateOf(span, 'toDate');
  return {
    activities: span.needNumber('activities'),
    requests: span.number('requests'),
    fromDate,
    toDate,
  };
}

function dateOf(span: JsonMembers, name: string): string {
  const date = span.needText(name);
  return parseTimestamp(date) === undefined ? span.refuse(name, 'YYYYMMDDHHMM') : date;
}
