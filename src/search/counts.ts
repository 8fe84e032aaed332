import { type OptionTable, oneOf } from '../base/check.js';
import { DataError } from '../base/errors.js';
import {
  DAY,
  type Dates,
  floorTo,
  formatTimestamp,
  HOUR,
  MINUTE,
  mergeRanges,
  overlap,
  parseTimestamp,
  type Window,
} from '../base/time.js';
import { type Flow, sourceFlow } from '../flow/flow.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { excerpt } from '../json/excerpt.js';
import { isCount } from '../json/type-guards.js';
import { warnOfRules } from '../rules/language/warn-of-rules.js';
import type { Page } from './fetch-page.js';
import { checkQuery, type Params, QUERY_OPTIONS, type QueryOptions, row } from './query.js';
import { type Results, runQuery } from './run-query.js';

/** The length of the time span for which `counts` returns one count. */
export type Bucket = 'day' | 'hour' | 'minute';

/** The number of matching posts in one time span. */
export interface CountBucket {
  /** The start of the bucket in the service's notation: `YYYYMMDDHHMM`, UTC. */
  readonly timePeriod: string;
  readonly start: Date;
  readonly count: number;
}

const BUCKET_LENGTHS = { day: DAY, hour: HOUR, minute: MINUTE };

/** Options of `counts`: the query, its window, and the length of the buckets. */
export interface CountsOptions extends QueryOptions {
  /** The time span that each count covers. @default 'hour' */
  readonly bucket?: Bucket | undefined;
}

export const COUNTS_OPTIONS = {
  ...QUERY_OPTIONS,
  bucket: row(
    { isParameter: true, identifies: 'cursor', flag: {} },
    oneOf('the length of a bucket', ['day', 'hour', 'minute'], 'hour'),
  ),
} satisfies OptionTable<CountsOptions>;

/**
 * Counts the posts that match a query, by day, hour or minute. A page covers up to 31 days, or fewer if the
 * service timed out. The flow requests pages until the window is complete. Buckets are delivered in the
 * service's order, which may be ascending or descending. Sort them by `start` if the order matters.
 *
 * Errors and cursors work as in `search`. The service sends every bucket of the window, including buckets
 * without posts. If a bucket is repeated, or is missing at the end, the flow ends with a `DataError`, or, after
 * the first page, with an `IncompleteError` whose cause is this `DataError`. There is no `limit`. With a limit,
 * the sum of only some buckets would look like the sum of all buckets.
 *
 * @throws OptionError immediately, for invalid options or missing settings of the account.
 * @throws HttpError, ConnectionError, DataError, IncompleteError from the flow.
 * @example
 * let posts = 0;
 * for await (const { count } of counts(account(), { query: 'snow', product: '30day', bucket: 'day' }))
 *   posts += count;
 */
export function counts(account: Account, options: CountsOptions): Flow<CountBucket> {
  const checked = checkAccountOptions('counts', account, COUNTS_OPTIONS, options);
  const { bucket } = checked;
  const runsEndAt = BUCKET_LENGTHS[bucket];
  const query = checkQuery('counts', account, COUNTS_OPTIONS, checked, { runsEndAt });
  warnOfRules('counts', 'search', [checked.query]);
  const makeResults = (isWhole: boolean, params: Params) => bucketResults(bucket, params, isWhole);
  const step = { step: 'counts', ...query.checkpointIdentity };
  return sourceFlow(step, run => runQuery(query, makeResults, run));
}

/** @param isWhole Whether the run started at the first page. */
function bucketResults(bucket: Bucket, params: Params, isWhole: boolean): Results<CountBucket> {
  const lengthMs = BUCKET_LENGTHS[bucket];
  const coverage = bucketCoverage(lengthMs);
  return {
    parse: parseBucket,
    receive(page) {
      checkTotal(page);
      for (const { start } of page.items) coverage.add(start.getTime());
      if (page.next === undefined) coverage.end({ ...params, ...page.window }, isWhole);
    },
    timeOf: ({ start }) => start.getTime(),
    fractionOf: ({ from, to }, { items }) => (items * lengthMs) / (to - from),
    missing({ window: { fromDate = 'the start', toDate = 'now' }, items }) {
      return `counts from ${fromDate} to ${toDate}, but for ${items} buckets`;
    },
  };
}

function parseBucket(bytes: Buffer, origin: string): CountBucket {
  const text = bytes.toString();
  const { timePeriod, count } = parseObject(text, origin);
  const start = typeof timePeriod === 'string' ? parseTimestamp(timePeriod) : undefined;
  if (start === undefined || !isCount(count)) throw notBucket(text, origin);
  return { timePeriod: timePeriod as string, start: new Date(start), count };
}

function parseObject(text: string, origin: string): { readonly [key: string]: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch (cause) {
    throw notBucket(text, origin, cause);
  }
}

function notBucket(text: string, origin: string, cause?: unknown): DataError {
  return new DataError(`A result is not a count of a bucket: ${excerpt(text)}`, {
    cause,
    position: { origin },
  });
}

function checkTotal({ items, rest: { totalCount } }: Page<CountBucket>): void {
  const sum = items.reduce((total, { count }) => total + count, 0);
  if (totalCount !== undefined && totalCount !== sum)
    throw new DataError(
      `The service says that the counts of a page add up to ${String(totalCount)}, but their sum is ${sum}`,
    );
}

/**
 * Tracks the buckets that one run of `counts` has received, in any order. The service sends every bucket of
 * the window exactly once, including empty buckets. A repeated or missing bucket is an error of the service.
 * Without this check, the sum of the counts would be wrong.
 */
function bucketCoverage(lengthMs: number) {
  /**
   * The time ranges of all buckets that were received so far, in ascending order. There is more than one
   * range only if pages are out of order.
   */
  let covered: readonly Window[] = [];
  let latestStart = Number.NEGATIVE_INFINITY;
  const refuse = (from: number, to: number) => {
    const count = (to - from) / lengthMs;
    const [first, last] = [from, to - lengthMs].map(formatTimestamp);
    throw new DataError(
      `The service says that it has no more, but skipped ${count === 1 ? `the bucket ${first}` : `${count} buckets, from ${first} to ${last}`}`,
    );
  };
  return {
    /** @throws DataError If the bucket was received before. */
    add(start: number): void {
      const from = floorTo(lengthMs, start);
      const bucket = { from, to: from + lengthMs };
      if (covered.some(one => overlap(one, bucket) !== undefined))
        throw new DataError(`The service counts the bucket ${formatTimestamp(start)} twice`);
      latestStart = Math.max(latestStart, start);
      covered = mergeRanges([...covered, bucket], () => true);
    },

    /**
     * Checks that all buckets were received. Call it after the last page.
     *
     * @param isWhole Whether this run started at the first page. If not, an earlier run has received the
     *   buckets at one end of the window, so it is enough that this run has received the buckets at the other
     *   end.
     * @throws DataError If buckets of the window are missing.
     */
    end({ fromDate = '', toDate = '' }: Partial<Dates>, isWhole: boolean): void {
      const [first, second] = covered;
      if (first !== undefined && second !== undefined) refuse(first.to, second.from);
      const [from, to] = [parseTimestamp(fromDate), parseTimestamp(toDate)];
      if (from === undefined || to === undefined) return;
      const start = floorTo(lengthMs, from);
      const end = floorTo(lengthMs, to + lengthMs - 1);
      const reachesStart = first !== undefined && first.from <= start;
      const reachesEnd = latestStart + lengthMs >= to;
      if (isWhole ? reachesStart && reachesEnd : reachesStart || reachesEnd) return;
      if (first !== undefined && !reachesEnd) refuse(first.to, end);
      refuse(start, first?.from ?? end);
    },
  };
}
