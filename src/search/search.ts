import type { Activity } from '../activity/activity.js';
import { func, lines, type OptionTable, optionError, whole } from '../check.js';
import { Flow } from '../flow/flow.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { PostResults } from './post-results.js';
import { checkQuery, MIN_RESULTS, QUERY_OPTIONS, type QueryOptions } from './query.js';
import { runQuery } from './run-query.js';

/** The query and window of `search`, where it ends, and how fast it fetches. */
export interface SearchOptions extends QueryOptions {
  /** Appears in the `matching_rules` of each post. */
  readonly tag?: string | undefined;
  /**
   * The maximum number of posts in a page, 10 to 500. Large pages need fewer requests, which count
   * towards the contract.
   * @default 500, or `limit` if it is lower
   */
  readonly maxResults?: number | undefined;
  /** Ends the search after this number of posts, without requesting more. */
  readonly limit?: number | undefined;
  /** Ends the search after this number of pages. */
  readonly pages?: number | undefined;
  /**
   * Splits the window into this number of parts of equal length, at most 10,000, and fetches up to
   * twelve of them at a time, within 20 requests a second. Posts are still newest first. A part
   * buffers at most four pages until its turn, so parts of a few pages work best: `counts` shows how
   * many posts there are. If a date is omitted, one more small request finds the window that the
   * service uses; because `30day` starts later every minute, its oldest minute is then omitted.
   * Cannot be combined with `limit`, `pages` or `next`.
   * @default 1
   */
  readonly slices?: number | undefined;
  /**
   * Called with each result that is not a post, has no id or is too large. If it returns, the result
   * is skipped. Without it, such a result ends the flow, after the first page with an
   * `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const MAX_RESULTS = 500;

const OPTIONS = {
  ...QUERY_OPTIONS,
  tag: lines('comes back in the `matching_rules` of each post'),
  maxResults: whole('posts of a page', { min: MIN_RESULTS, max: MAX_RESULTS }),
  limit: whole('posts in all', { min: 1 }),
  pages: whole('pages in all', { min: 1 }),
  slices: whole('parts of the window', { min: 1, max: 10_000, default: 1 }),
  onDamaged: func<OnDamaged>('told of damaged results'),
} satisfies OptionTable<SearchOptions>;

/**
 * The posts that match a query, newest first. Each page is a batch with a cursor; while one is
 * consumed, the next is requested. Server errors, rate limits and broken connections are retried;
 * posts may repeat at page edges, see `dedupe`. The flow ends after the last page.
 *
 * @throws OptionError immediately, when an option cannot work or a setting of the account is missing.
 * @throws HttpError, ConnectionError, DataError from the flow, when the first page fails.
 * @throws IncompleteError from the flow, when a later page fails: `cause` says why, and `cursor` is
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
  const checked = checkAccountOptions('search', account, OPTIONS, options);
  const { tag, slices, onDamaged } = checked;
  for (const name of ['limit', 'pages', 'next'] as const)
    if (slices > 1 && checked[name] !== undefined)
      throw optionError('search', 'slices', `fetches a whole window: leave out \`${name}\``);
  const { limit = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } = checked;
  const { maxResults = Math.min(Math.max(limit, MIN_RESULTS), MAX_RESULTS) } = checked;
  const query = checkQuery(
    'search',
    account,
    checked,
    { tag, maxResults },
    { limit, pages, slices },
  );
  const bounds = { limit: checked.limit ?? null, pages: checked.pages ?? null };
  return new Flow(run => runQuery(query, () => new PostResults(onDamaged), run), undefined, [
    { step: 'search', ...query.identity, ...bounds },
  ]);
}
