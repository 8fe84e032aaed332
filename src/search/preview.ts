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

/** What a search would take, from counts of the same window. */
export interface Preview {
  /** The posts that the service would send. A post that several queries of a search for rules match is in it several times. */
  readonly posts: number;
  /** The pages that these posts fill. */
  readonly pages: number;
  /** The requests that are needed at least: one a page, unless the service sends pages that are not full. */
  readonly requests: number;
  /** The same for each query: one, or those that rules were packed into. */
  readonly queries: readonly QueryPreview[];
}

/** What one query of a search would take. */
interface QueryPreview extends Omit<Preview, 'queries'> {
  readonly query: string;
}

/** How a preview is ended. */
export interface PreviewOptions {
  /** Ends the call with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = { signal: signal() } satisfies OptionTable<PreviewOptions>;

/**
 * Estimates the requests and posts of a search from daily counts of its window. Sends one request for each 31 days of
 * each query, and fetches no posts. Takes `limit`, `pages`, `maxResults`, `slices` and `shard` into account. For an
 * `incremental` search, estimates the first run. Posts that are published or deleted before the search change the
 * numbers.
 *
 * @param options The options of the search.
 * @throws OptionError As a rejection, for options that `search` refuses.
 * @throws HttpError, ConnectionError, DataError, IncompleteError As `counts` does.
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

/** @param part The query over the part of the window that this process has; `undefined` for none. */
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
  // Slices need the window, which one more request finds out.
  const isOpen = slices > 1 && (fromDate === undefined || toDate === undefined);
  return { query, posts, pages, requests: Math.max(pages, slices) + (isOpen ? 1 : 0) };
}
