import { Activity } from '../activity/activity.js';
import { DataError, OptionError } from '../errors.js';
import { Flow } from '../flow/flow.js';
import { withOrigin } from '../flow/with-origin.js';
import type { Account } from '../http/account.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { isDeeperThan } from '../json/json-depth.js';
import { recordLimits } from '../json/record-limits.js';
import { formatTimestamp, MINUTE } from '../time.js';
import type { Page } from './page.js';
import {
  checkCall,
  checkQuery,
  checkText,
  checkWhole,
  MIN_RESULTS,
  type QueryOptions,
} from './query.js';
import type { Position } from './query-cursor.js';
import { type QueryRun, runQuery } from './query-run.js';

export interface SearchOptions extends QueryOptions {
  /** Comes back in the `matching_rules` of each post. */
  readonly tag?: string | undefined;
  /**
   * Most posts of one answer, 10 to 500. Fewer requests are fewer to count and to pay for.
   * @default 500, or less where `limit` is
   */
  readonly maxResults?: number | undefined;
  /** Ends the search after so many posts. No page is requested beyond. */
  readonly limit?: number | undefined;
  /** Ends the search after so many answers. */
  readonly pages?: number | undefined;
  /**
   * Splits the window into so many parts of the same length and fetches up to twelve of them side by
   * side, within 20 requests a second. Posts still come newest first. A part waits for its turn with
   * at most four pages in memory, so it pays to have parts of a few pages: `counts` tells how many
   * posts there are. Where a date is left out, one small request more asks the service how far the
   * window goes; since `30day` begins later every minute, its oldest minute is then left out.
   * Not together with `limit`, `pages` or `next`.
   * @default 1
   */
  readonly slices?: number | undefined;
  /**
   * Told of each result that is no post, has no id or is too large: returning leaves it out. Without, it
   * ends the flow: with an `IncompleteError` after the first page.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const POST_LIMITS = recordLimits('search');

/** 4.1 */
const MOST_RESULTS = 500;
const MOST_SLICES = 10_000;

/**
 * The posts that match a query, newest first (service.md 4.1). Each page is a batch with a cursor;
 * while one is consumed, the next is requested. Server errors, rate limits and broken connections
 * are retried; posts may repeat at page edges, see `dedupe`. The flow ends when the service says
 * that there is no more.
 *
 * The options are checked before anything is sent.
 *
 * @throws OptionError at once, for options that cannot work or are missing in the account.
 * @throws HttpError, ConnectionError, DataError from the flow, when the first page fails.
 * @throws IncompleteError from the flow, when a later one does: `cause` says why, and `cursor` is
 * where to go on.
 * @example
 * const posts = search(account(), {
 *   query: 'snow lang:en',
 *   product: 'fullarchive',
 *   fromDate: '201401010000',
 *   toDate: '201401020000',
 * });
 * for await (const post of posts) console.log(post.id, post.text);
 */
export function search(account: Account, options: SearchOptions): Flow<Activity> {
  checkCall(account, options, ['tag', 'maxResults', 'limit', 'pages', 'slices', 'onDamaged']);
  const { tag, limit = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } = options;
  const { slices = 1, onDamaged } = options;
  if (onDamaged !== undefined && typeof onDamaged !== 'function')
    throw new OptionError('onDamaged', 'Expected `onDamaged` to be a function');
  if (tag !== undefined) checkText('tag', tag);
  if (options.limit !== undefined) checkWhole('limit', limit, 1, Number.MAX_SAFE_INTEGER);
  if (options.pages !== undefined) checkWhole('pages', pages, 1, Number.MAX_SAFE_INTEGER);
  checkWhole('slices', slices, 1, MOST_SLICES);
  for (const name of ['limit', 'pages', 'next'] as const)
    if (slices > 1 && options[name] !== undefined)
      throw new OptionError('slices', `\`slices\` fetches a whole window: leave out \`${name}\``);
  const { maxResults = Math.min(Math.max(limit, MIN_RESULTS), MOST_RESULTS) } = options;
  checkWhole('maxResults', maxResults, MIN_RESULTS, MOST_RESULTS);
  const query = checkQuery('search', account, options, { tag, maxResults });
  const job: QueryRun<Activity> = {
    query: slices === 1 ? query : { ...query, identity: { ...query.identity, slices } },
    limit,
    pages,
    slices,
    parse: (bytes, origin) => parsePost(bytes, origin, onDamaged),
    reachedBy: timeOfLast,
    fractionOf: ({ from, to }, _position, reached) => (to - reached) / (to - from),
    missing: missingPosts,
  };
  const { identity } = job.query;
  const bounds = { limit: options.limit ?? null, pages: options.pages ?? null };
  return new Flow(run => runQuery(job, run), undefined, [
    { step: 'search', ...identity, ...bounds },
  ]);
}

/** The post, or `undefined` for one that is damaged and that the caller goes on without. */
function parsePost(
  bytes: Buffer,
  origin: string,
  onDamaged: OnDamaged | undefined,
): Activity | undefined {
  try {
    return withOrigin(origin, () => checkedPost(bytes));
  } catch (error) {
    if (!(error instanceof DataError) || onDamaged === undefined) throw error;
    onDamaged({ raw: bytes, origin }, error);
    return undefined;
  }
}

function checkedPost(bytes: Buffer): Activity {
  const { maxBytes, maxDepth } = POST_LIMITS;
  if (bytes[0] !== 0x7b)
    throw new DataError(`A result is no post: ${bytes.subarray(0, 80).toString()}`);
  if (bytes.length > maxBytes) throw new DataError(`A result is larger than ${maxBytes} bytes`);
  if (bytes.length > 2 * maxDepth && isDeeperThan(maxDepth, bytes))
    throw new DataError(`A result is nested deeper than ${maxDepth}`);
  const post = new Activity(bytes);
  void post.id;
  return post;
}

/** A post without a time is for its reader to complain about, not for the progress. */
function timeOfLast({ items }: Page<Activity>): number | undefined {
  try {
    return items.at(-1)?.postedAt.getTime();
  } catch {
    return undefined;
  }
}

function missingPosts({ window }: Position, reached: number | undefined): string {
  const { fromDate = 'the start' } = window;
  const to = reached === undefined ? window.toDate : formatTimestamp(reached + MINUTE);
  return `posts from ${fromDate} to ${to ?? 'now'}`;
}
