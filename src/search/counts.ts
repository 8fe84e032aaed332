import { DataError } from '../errors.js';
import { Flow } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import { DAY, HOUR, MINUTE, parseTimestamp } from '../time.js';
import { BucketCoverage } from './bucket-coverage.js';
import type { Page } from './page.js';
import { checkCall, checkQuery, oneOf, type QueryOptions } from './query.js';
import type { Position } from './query-cursor.js';
import { type QueryRun, runQuery } from './query-run.js';

export type Bucket = 'day' | 'hour' | 'minute';

export interface CountsOptions extends QueryOptions {
  /** @default 'hour' */
  readonly bucket?: Bucket | undefined;
}

/** How many posts match in one span of time (service.md 2.4). */
export interface CountBucket {
  /** Start of the bucket as the service writes it: `YYYYMMDDHHMM`, UTC. */
  readonly timePeriod: string;
  readonly start: Date;
  readonly count: number;
}

const LENGTHS: Readonly<Record<Bucket, number>> = { day: DAY, hour: HOUR, minute: MINUTE };

/**
 * How many posts match a query, by day, hour or minute (service.md 4.2). A page covers up to 31
 * days, or fewer where the service timed out; the flow goes on until it has all of them. Buckets
 * come in the order in which the service sends them: ascending within a page as the document shows,
 * while a service may well begin with the newest, so sort by `start` where the order matters.
 *
 * Errors and cursors are those of `search`. The service sends every bucket of the window, also those
 * without a post: one that comes twice, or is missing at the end, is a `DataError`, or the cause of an
 * `IncompleteError` after the first page. What is only of use for posts, such as `limit`, is no option
 * here: a sum of some of the buckets would look like a sum of all.
 *
 * @example
 * let posts = 0;
 * for await (const { count } of counts(account(), { query: 'snow', product: '30day', bucket: 'day' }))
 *   posts += count;
 */
export function counts(account: Account, options: CountsOptions): Flow<CountBucket> {
  checkCall(account, options, ['bucket']);
  const { bucket = 'hour' } = options;
  oneOf('bucket', bucket, Object.keys(LENGTHS));
  const query = checkQuery('counts', account, options, { bucket });
  const job: QueryRun<CountBucket> = {
    query,
    limit: Number.POSITIVE_INFINITY,
    pages: Number.POSITIVE_INFINITY,
    slices: 1,
    parse: parseBucket,
    checkPages: isWhole => {
      const coverage = new BucketCoverage(LENGTHS[bucket]);
      return page => {
        checkTotal(page);
        for (const { start } of page.items) coverage.add(start.getTime());
        if (page.next === undefined) coverage.end({ ...query.params, ...page.window }, isWhole);
      };
    },
    reachedBy: ({ items }) => items.at(-1)?.start.getTime(),
    fractionOf: ({ from, to }, { items }) => (items * LENGTHS[bucket]) / (to - from),
    missing: missingCounts,
  };
  return new Flow(run => runQuery(job, run), undefined, [
    { step: 'counts', ...job.query.identity },
  ]);
}

function parseBucket(bytes: Buffer, origin: string): CountBucket {
  const text = bytes.toString();
  const { timePeriod, count } = parseObject(text, origin);
  const start = typeof timePeriod === 'string' ? parseTimestamp(timePeriod) : undefined;
  if (start === undefined || !Number.isSafeInteger(count) || (count as number) < 0)
    throw noBucket(text, origin);
  return { timePeriod: timePeriod as string, start: new Date(start), count: count as number };
}

function parseObject(text: string, origin: string): { readonly [key: string]: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch (cause) {
    throw noBucket(text, origin, cause);
  }
}

function noBucket(text: string, origin: string, cause?: unknown): DataError {
  return new DataError(`A result is no count of a bucket: ${text.slice(0, 80)}`, {
    cause,
    place: { origin },
  });
}

function checkTotal({ items, rest: { totalCount } }: Page<CountBucket>): void {
  const sum = items.reduce((total, { count }) => total + count, 0);
  if (totalCount !== undefined && totalCount !== sum)
    throw new DataError(
      `The service says that the counts of a page add up to ${String(totalCount)}, but they are ${sum} together`,
    );
}

function missingCounts({ window, items }: Position): string {
  const { fromDate = 'the start', toDate = 'now' } = window;
  return `counts from ${fromDate} to ${toDate}, but for ${items} buckets`;
}
