import { type OptionTable, oneOf } from '../check.js';
import { type Flow, sourceFlow } from '../flow/flow.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { BUCKET_LENGTHS, type Bucket, BucketResults, type CountBucket } from './bucket-results.js';
import { checkQuery, type Params, QUERY_OPTIONS, type QueryOptions } from './query.js';
import { runQuery } from './run-query.js';

export type { Bucket, CountBucket } from './bucket-results.js';

/** The query and window of `counts`, and the length of its buckets. */
export interface CountsOptions extends QueryOptions {
  /** The span of time that each count covers. @default 'hour' */
  readonly bucket?: Bucket | undefined;
}

export const COUNTS_OPTIONS = {
  ...QUERY_OPTIONS,
  bucket: oneOf('the length of a bucket', ['day', 'hour', 'minute'], 'hour'),
} satisfies OptionTable<CountsOptions>;

/**
 * Counts the posts that match a query, by day, hour or minute. A page covers up to 31 days, or fewer
 * if the service timed out; the flow continues until it is complete. Buckets are delivered in the
 * order in which the service sends them, which may be ascending or descending: sort by `start` if the
 * order matters.
 *
 * Errors and cursors are those of `search`. The service sends every bucket of the window, also those
 * without posts: a bucket that is repeated, or missing at the end, is a `DataError`, or the cause of an
 * `IncompleteError` after the first page. Counts take no `limit`: a sum over some of the buckets would
 * look like a sum over all.
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
  const query = checkQuery(
    'counts',
    account,
    checked,
    { bucket },
    undefined,
    BUCKET_LENGTHS[bucket],
  );
  const makeResults = (isWhole: boolean, params: Params) =>
    new BucketResults(bucket, params, isWhole);
  const step = { step: 'counts', ...query.identity };
  return sourceFlow(step, run => runQuery(query, makeResults, run));
}
