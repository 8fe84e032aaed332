import { checkOptions, type OptionTable, signal } from '../base/check.js';
import type { Account } from '../http/account.js';
import { counts } from './counts.js';
import { endpointOptions, type Query } from './query.js';
import {
  isForRules,
  prepareQuery,
  prepareRules,
  type SearchOptions,
  type SearchRulesOptions,
  shardOfQuery,
} from './search.js';

/** An estimate of the cost of a search, from counts of the same window. */
export interface Preview {
  /**
   * The number of posts that the service would send. If several queries of a search for rules match a post,
   * the post is counted once for each of these queries.
   */
  readonly posts: number;
  /** The number of pages that these posts fill. */
  readonly pages: number;
  /**
   * The minimum number of requests. It is at least the number of pages. The search sends more requests if the
   * service sends pages that are not full.
   */
  readonly requests: number;
  /** A separate estimate for each query. A search for rules has one for each packed query. */
  readonly queries: readonly QueryPreview[];
}

interface QueryPreview extends Omit<Preview, 'queries'> {
  readonly query: string;
}

/** Options of `preview`: a signal that aborts the call. */
export interface PreviewOptions {
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = { signal: signal() } satisfies OptionTable<PreviewOptions>;

/**
 * Estimates how many requests and posts a search would need, from daily counts of its window. Sends one
 * request for every 31 days of each query, and fetches no posts. Takes `limit`, `pages`, `maxResults`,
 * `slices` and `shard` into account. For an `incremental` search, estimates the first run. The estimate is
 * wrong if posts are published or deleted before the search runs.
 *
 * @param options The options of the search.
 * @throws OptionError For options that `search` refuses. The promise rejects with it.
 * @throws HttpError, ConnectionError, DataError, IncompleteError Like `counts`.
 * @example
 * const { posts, requests } = await preview(account(), { query: 'snow', product: '30day' });
 * console.log(`${posts} posts in ${requests} requests`);
 */
export async function preview(
  account: Account,
  options: SearchOptions | SearchRulesOptions,
  previewOptions: PreviewOptions = {},
): Promise<Preview> {
  const { signal } = checkOptions('preview', OPTIONS, previewOptions);
  const { queries, shard } = isForRules(options)
    ? prepareRules(account, options)
    : prepareQuery(account, options);
  const previews: QueryPreview[] = [];
  for (const query of queries) {
    const part = shard === undefined ? query : shardOfQuery(query, shard);
    previews.push(await previewOf(account, query, part, options, signal));
  }
  const sum = (name: 'posts' | 'pages' | 'requests') =>
    previews.reduce((all, one) => all + one[name], 0);
  return {
    posts: sum('posts'),
    pages: sum('pages'),
    requests: sum('requests'),
    queries: previews,
  };
}

/**
 * @param part The query for the part of the window that this process fetches. `undefined` if this process
 *   fetches nothing.
 */
async function previewOf(
  account: Account,
  { params }: Query,
  part: Query | undefined,
  options: SearchOptions | SearchRulesOptions,
  signal: AbortSignal | undefined,
): Promise<QueryPreview> {
  const query = String(params.query);
  if (part === undefined) return { query, posts: 0, pages: 0, requests: 0 };
  const { fromDate, toDate, maxResults } = part.params;
  const dates = {
    ...(fromDate !== undefined && { fromDate: String(fromDate) }),
    ...(toDate !== undefined && { toDate: String(toDate) }),
  };
  const flow = counts(account, { ...endpointOptions(options), query, ...dates, bucket: 'day' });
  let found = 0;
  for await (const { items } of flow.batches({ signal }))
    for (const { count } of items) found += count;
  const { limit, pages: maxPages, slices } = part;
  const pages = Math.min(
    Math.max(1, Math.ceil(Math.min(found, limit) / Number(maxResults))),
    maxPages,
  );
  const posts = Math.min(found, limit, pages * Number(maxResults));
  // A search with slices needs both dates. If one is missing, the search sends one more request to find it.
  const isOpen = slices > 1 && (fromDate === undefined || toDate === undefined);
  return { query, posts, pages, requests: Math.max(pages, slices) + (isOpen ? 1 : 0) };
}
