import { DAY, floorTo, MINUTE, parseTimestamp, type Window } from '../../time.js';
import { HttpProblem } from '../http/http-problem.js';
import { monthsLater, startOfMonth } from './months.js';

export type UsageBucket = 'month' | 'day';

/** What is asked for, in epoch milliseconds of the starts of days. */
export interface UsageQuery {
  readonly bucket?: UsageBucket | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const NAMES = ['bucket', 'fromDate', 'toDate'];

/** Reads and checks the parameters (service.md 4.7). Everything that is wrong is said at once: 400. */
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

/** "Hour and minute other than 0000 are reset to 0000." */
function dayOf(name: string, parameters: URLSearchParams, problems: string[]): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const ms = parseTimestamp(text);
  if (ms === undefined)
    problems.push(`Invalid value for parameter '${name}'. It must be a UTC time YYYYMMDDHHMM.`);
  return ms === undefined ? undefined : floorTo(DAY, ms);
}

/**
 * The period that a report covers. "A current or future day returns data through the last full UTC
 * day"; without `to`, it ends with the present minute. Without `from`, it begins two months before the
 * month in which it ends.
 */
export function usagePeriod({ from, to }: UsageQuery, now: number): Window {
  const end = to === undefined ? floorTo(MINUTE, now) + MINUTE : Math.min(to, floorTo(DAY, now));
  const start = from ?? monthsLater(startOfMonth(end - 1), -2);
  return { from: start, to: Math.max(start, end) };
}

/** The buckets of a period; its first and last may be cut. */
export function bucketsOf({ from, to }: Window, bucket: UsageBucket): readonly Window[] {
  const buckets: Window[] = [];
  for (let start = from; start < to; ) {
    const next = bucket === 'day' ? floorTo(DAY, start) + DAY : monthsLater(startOfMonth(start), 1);
    buckets.push({ from: start, to: Math.min(next, to) });
    start = next;
  }
  return buckets;
}
