import { DAY, floorTo, MINUTE, parseTimestamp, type Window } from '../../base/time.js';
import { HttpProblem } from '../http/http-problem.js';

export type UsageBucket = 'month' | 'day';

/** The parameters of a report. Dates are starts of UTC days in epoch milliseconds. */
export interface UsageQuery {
  readonly bucket?: UsageBucket | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const NAMES = ['bucket', 'fromDate', 'toDate'];

/**
 * Reads and checks the parameters.
 *
 * @throws HttpProblem 400 with all problems of the parameters.
 */
export function readUsageQuery(parameters: URLSearchParams): UsageQuery {
  const problems: string[] = [];
  for (const name of new Set(parameters.keys())) {
    if (!NAMES.includes(name))
      problems.push(`Unknown parameter '${name}'. Use ${NAMES.join(', ')}.`);
    else if (parameters.getAll(name).length > 1)
      problems.push(`The parameter '${name}' comes more than once.`);
  }
  const bucket = parameters.get('bucket') ?? undefined;
  if (bucket !== undefined && bucket !== 'month' && bucket !== 'day')
    problems.push("Invalid value for parameter 'bucket'. It must be one of month, day.");
  const [from, to] = ['fromDate', 'toDate'].map(name => dayOf(name, parameters, problems));
  if (from !== undefined && to !== undefined && from >= to)
    problems.push("'fromDate' must be a day before 'toDate': both count by whole days.");
  if (problems.length > 0) throw new HttpProblem(400, problems.join('\n'));
  return { bucket: bucket as UsageBucket | undefined, from, to };
}

/** Hours and minutes are ignored, as the real service does. */
function dayOf(name: string, parameters: URLSearchParams, problems: string[]): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const ms = parseTimestamp(text);
  if (ms === undefined)
    problems.push(`Invalid value for parameter '${name}'. It must be a UTC time YYYYMMDDHHMM.`);
  return ms === undefined ? undefined : floorTo(DAY, ms);
}

/**
 * The period that a report covers. If `to` is today or later, it ends with the last full UTC day; without
 * `to`, with the current minute. Without `from`, it starts two months before the month of its end.
 */
export function usagePeriod({ from, to }: UsageQuery, now: number): Window {
  const end = to === undefined ? floorTo(MINUTE, now) + MINUTE : Math.min(to, floorTo(DAY, now));
  const start = from ?? monthsLater(startOfMonth(end - 1), -2);
  return { from: start, to: Math.max(start, end) };
}

/** The buckets of a period; the first and the last may be partial. */
export function bucketsOf({ from, to }: Window, bucket: UsageBucket): readonly Window[] {
  const buckets: Window[] = [];
  for (let start = from; start < to; ) {
    const next = bucket === 'day' ? floorTo(DAY, start) + DAY : monthsLater(startOfMonth(start), 1);
    buckets.push({ from: start, to: Math.min(next, to) });
    start = next;
  }
  return buckets;
}

/** The start of the UTC month of an instant. */
export function startOfMonth(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The same day `months` later, or earlier if negative; the last day if that month is shorter. */
export function monthsLater(ms: number, months: number): number {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  return Date.UTC(year, month, day) + (ms - start);
}
