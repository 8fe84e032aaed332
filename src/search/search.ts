import { Activity } from '../activity/activity.js';
import { func, lines, type OptionTable, optionError, whole } from '../check.js';
import { DataError } from '../errors.js';
import { type Batches, type Flow, OwnFlow } from '../flow/flow.js';
import { withOrigin } from '../flow/with-origin.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { excerpt } from '../json/excerpt.js';
import { isDeeperThan } from '../json/json-depth.js';
import { recordLimits } from '../json/record-limits.js';
import { partOf, SHARE_OPTION, type Share, shareName } from '../share.js';
import { formatTimestamp, MINUTE, parseTimestamp, type Window } from '../time.js';
import { checkQuery, MIN_RESULTS, QUERY_OPTIONS, type Query, type QueryOptions } from './query.js';
import type { QueryPosition } from './query-cursor.js';
import { type Results, runQuery } from './run-query.js';

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
   * The part of the window that this process takes: shares are parts of equal length, the first the
   * oldest. Needs both dates, as every process would otherwise have another window, and cannot be
   * combined with `limit`, `pages` or `next`.
   * @default the account's `share`, or the whole window
   */
  readonly share?: Share | undefined;
  /**
   * Called with each result that is not a post, has no id or is too large. If it returns, the result
   * is skipped. Without it, such a result ends the flow, after the first page with an
   * `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const MAX_RESULTS = 500;

export const SEARCH_OPTIONS = {
  ...QUERY_OPTIONS,
  tag: lines('comes back in the `matching_rules` of each post'),
  maxResults: whole('posts of a page', { min: MIN_RESULTS, max: MAX_RESULTS }),
  limit: whole('posts in all', { min: 1 }),
  pages: whole('pages in all', { min: 1 }),
  slices: whole('parts of the window', { min: 1, max: 10_000, default: 1 }),
  share: SHARE_OPTION,
  onDamaged: func<OnDamaged>('told of damaged results'),
} satisfies OptionTable<SearchOptions>;

/**
 * The posts that match a query, newest first. Each page is a batch with a cursor; while one is
 * consumed, the next is requested. Server errors, rate limits and broken connections are retried;
 * posts may be repeated at page boundaries, see `dedupe`. The flow ends after the last page.
 *
 * @throws OptionError immediately, for invalid options or missing settings of the account.
 * @throws HttpError, ConnectionError, DataError from the flow, if the first page fails.
 * @throws IncompleteError from the flow, if a later page fails: `cause` says why, and `cursor` is
 * where to resume.
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
  const checked = checkAccountOptions('search', account, SEARCH_OPTIONS, options);
  const { tag, slices, onDamaged, share = account.settings.share, incremental } = checked;
  refuseParts(incremental === true, { limit: checked.limit, pages: checked.pages, share });
  for (const name of ['limit', 'pages', 'next'] as const)
    for (const [whole, isSet] of [
      ['slices', slices > 1],
      ['share', share !== undefined],
    ] as const)
      if (isSet && checked[name] !== undefined)
        throw optionError('search', whole, `fetches a whole window: leave out \`${name}\``);
  const { limit = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } = checked;
  const { maxResults = Math.min(Math.max(limit, MIN_RESULTS), MAX_RESULTS) } = checked;
  const query = checkQuery(
    'search',
    account,
    checked,
    { tag, maxResults },
    { limit, pages, slices },
  );
  // Before what follows from them, as the first difference is the one that is reported.
  const bounds = { limit: checked.limit ?? null, pages: checked.pages ?? null };
  if (share === undefined)
    return new OwnFlow(run => runQuery(query, () => new PostResults(onDamaged), run), undefined, [
      { step: 'search', ...bounds, ...query.identity },
    ]);
  const part = shareOfQuery(query, share);
  return new OwnFlow(
    run => (part === undefined ? none() : runQuery(part, () => new PostResults(onDamaged), run)),
    undefined,
    [{ step: 'search', ...bounds, ...query.identity, share: shareName(share) }],
  );
}

/** Refuses what leaves some of the window to another run. */
function refuseParts(incremental: boolean, parts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(parts))
    if (incremental && value !== undefined)
      throw optionError(
        'search',
        name,
        'cannot be combined with `incremental`: the next run begins where the whole window of this one ends',
      );
}

/**
 * The part of a query that a share has; `undefined` where its window has fewer minutes than there are
 * shares, and this one has none.
 */
function shareOfQuery(query: Query, share: Share): Query | undefined {
  const [from, to] = [query.params.fromDate, query.params.toDate].map(date =>
    date === undefined ? undefined : parseTimestamp(String(date)),
  );
  if (from === undefined || to === undefined)
    throw optionError(
      'search',
      'share',
      'needs `fromDate` and `toDate`: without them, every process has another window',
    );
  const part = partOf({ from, to }, share);
  if (part === undefined) return undefined;
  const dates = { fromDate: formatTimestamp(part.from), toDate: formatTimestamp(part.to) };
  const params = { ...query.params, ...dates };
  const identity = { ...query.identity, ...dates, share: shareName(share) };
  return { ...query, params, identity };
}

async function* none(): Batches<never> {}

const POST_LIMITS = recordLimits('search');

/** The posts of one run of a search, newest first. */
class PostResults implements Results<Activity> {
  readonly onDamaged: OnDamaged | undefined;

  constructor(onDamaged: OnDamaged | undefined) {
    this.onDamaged = onDamaged;
  }

  parse(bytes: Buffer, origin: string): Activity {
    return withOrigin(origin, () => parsePost(bytes));
  }

  /** Progress ignores a post without a time; the consumer gets the error when it reads the time. */
  timeOf(post: Activity): number | undefined {
    try {
      return post.postedAt.getTime();
    } catch {
      return undefined;
    }
  }

  fractionOf({ from, to }: Window, { reached }: QueryPosition): number {
    return reached === undefined ? 0 : (to - reached) / (to - from);
  }

  missing({ window, reached }: QueryPosition): string {
    const { fromDate = 'the start' } = window;
    const to = reached === undefined ? window.toDate : formatTimestamp(reached + MINUTE);
    return `posts from ${fromDate} to ${to ?? 'now'}`;
  }
}

function parsePost(bytes: Buffer): Activity {
  const { maxBytes, maxDepth } = POST_LIMITS;
  if (bytes[0] !== 0x7b) throw new DataError(`A result is not a post: ${excerpt(bytes)}`);
  if (bytes.length > maxBytes) throw new DataError(`A result is larger than ${maxBytes} bytes`);
  if (bytes.length > 2 * maxDepth && isDeeperThan(maxDepth, bytes))
    throw new DataError(`A result is nested deeper than ${maxDepth}`);
  const post = new Activity(bytes);
  // Throws where the post has no id.
  void post.id;
  return post;
}
