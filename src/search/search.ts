import {
  func,
  group,
  lines,
  type OptionTable,
  optionError,
  required,
  special,
  whole,
} from '../base/check.js';
import { DataError, withOrigin } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { partOf, SHARD_OPTION, type Shard } from '../base/shard.js';
import { datesOf, formatTimestamp, MINUTE, windowOf } from '../base/time.js';
import { type Batches, type Flow, sourceFlow } from '../flow/flow.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { checkObject } from '../json/check-object.js';
import { excerpt } from '../json/excerpt.js';
import type { OnDamaged } from '../json/records.js';
import { recordLimits } from '../json/records.js';
import { Activity } from '../post/activity.js';
import { compileRules, type Rule, type RuleMatcher } from '../rules/index/compile-rules.js';
import { textRuleProblem } from '../rules/language/render-problem.js';
import { warnOfRules } from '../rules/language/warn-of-rules.js';
import { PACK_OPTIONS, type PackOptions, packRules } from '../rules/pack-rules.js';
import { BUDGET_OPTION, type Budget, checkBudget, Spending } from './budget.js';
import {
  checkQuery,
  MIN_RESULTS,
  QUERY_OPTIONS,
  type Query,
  type QueryOptions,
  row,
} from './query.js';
import { type Results, runQuery } from './run-query.js';
import { type OnQueries, packingId, runPacked } from './search-rules.js';

/** Options for both a search for one query and a search for rules. */
interface FetchOptions {
  /**
   * The maximum number of posts in a page, 10 to 500. With larger pages, fewer requests are needed. The
   * contract limits the number of requests.
   * @default 500, or `limit` if it is lower
   */
  readonly maxResults?: number | undefined;
  /**
   * The maximum cost of this run, `{ requests, posts }`. Before a request that could exceed it, the flow ends
   * with an `IncompleteError` whose `reason` is `'budget'`. A run that resumes from the error's cursor, or
   * from the checkpoint, has a new budget. Each attempt of a request counts as a request. While a page is
   * requested, it counts as `maxResults` posts, so `posts` must be at least `maxResults`. Cannot be combined
   * with `slices`.
   * @default no limit
   */
  readonly budget?: Budget | undefined;
  /**
   * Splits the window into this number of parts of equal length, at most 10,000. Up to 12 parts are fetched
   * concurrently, within 20 requests per second. Posts are still delivered newest first. At most 4 pages of a
   * part are buffered while earlier parts are consumed, so parts with only a few pages work best. Use
   * `counts` to see how many posts there are. If a date is omitted, one more small request asks the service
   * for the dates. A `30day` window without `fromDate` may omit its oldest minute, because the start of
   * `30day` moves forward every minute. Cannot be combined with `limit`, `pages`, `next` or `budget`.
   * @default 1
   */
  readonly slices?: number | undefined;
  /**
   * The part of the window that this process fetches. The window is divided into parts of equal length; the
   * first shard is the oldest part. Requires both dates. Otherwise, each process would have a different
   * window. Cannot be combined with `limit`, `pages` or `next`.
   * @default the account's `shard`, or the whole window
   */
  readonly shard?: Shard | undefined;
  /**
   * Called with each result that is not a post, has no id or is too large. If the callback returns, the
   * result is skipped. Without this option and without the sink option `damaged`, the first such result ends
   * the flow. After the first page, the flow ends with an `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

/** Options of `search` for one query: the query, its window and limits, and how to fetch posts. */
export interface SearchOptions extends QueryOptions, FetchOptions {
  /** The tag that appears in the `matching_rules` of each post. */
  readonly tag?: string | undefined;
  /** The maximum number of posts. After that many posts, the search ends without further requests. */
  readonly limit?: number | undefined;
  /** The maximum number of pages. After that many pages, the search ends. */
  readonly pages?: number | undefined;
}

/** Options of `search` for many rules: the rules, the window, and how to fetch posts. */
export interface SearchRulesOptions extends Omit<QueryOptions, 'query' | 'next'>, FetchOptions {
  /**
   * The rules, at least one, each with an optional tag. The rules are packed into few queries, as by
   * `rules.pack`. Each post is delivered once. Its `matching_rules` list the rules that match it, as set by
   * `matchRules`.
   */
  readonly rules: readonly Rule[];
  /** The maximum size of a query. @default the limits of `rules.pack` */
  readonly queryLimits?: PackOptions | undefined;
  /**
   * Called before the first request of a run, with the queries and their minimum number of requests. If the
   * callback returns a promise, the run waits for it. If the callback throws or its promise rejects, the run
   * ends with that error.
   */
  readonly onQueries?: OnQueries | undefined;
}

const MAX_RESULTS = 500;

const FETCH_OPTIONS = {
  maxResults: row(
    { isParameter: true, identifies: 'cursor', flag: { shownDefault: '500, or --limit' } },
    whole('posts of a page', { min: MIN_RESULTS, max: MAX_RESULTS }),
  ),
  budget: BUDGET_OPTION,
  slices: row(
    { identifies: 'cursor', flag: {} },
    whole('parts of the window', { min: 1, max: 10_000, default: 1 }),
  ),
  shard: row({ identifies: 'cursor', flag: { shownDefault: 'all' } }, SHARD_OPTION),
  onDamaged: func<OnDamaged>('told of damaged results'),
} satisfies OptionTable<FetchOptions>;

export const SEARCH_OPTIONS = {
  ...QUERY_OPTIONS,
  tag: row(
    { isParameter: true, identifies: 'cursor', flag: {} },
    lines('comes back in the `matching_rules` of each post'),
  ),
  // `limit` comes before `maxResults`, whose default depends on `limit`. If both differ from a checkpoint,
  // only the first of them is reported.
  limit: row(
    { identifies: 'checkpoint', flag: { shownDefault: 'all' } },
    whole('posts in all', { min: 1 }),
  ),
  pages: row({ identifies: 'checkpoint' }, whole('pages in all', { min: 1 })),
  ...FETCH_OPTIONS,
} satisfies OptionTable<SearchOptions>;

const { query: _query, next: _next, ...WINDOW_OPTIONS } = QUERY_OPTIONS;
const RULES_OPTIONS = {
  ...WINDOW_OPTIONS,
  ...FETCH_OPTIONS,
  rules: required({
    ...special<readonly Rule[]>(
      'the rules that posts match',
      'an array of at least one rule, each an object with a `value`',
      rules => Array.isArray(rules) && rules.length > 0 && rules.every(isRecord),
    ),
    explain: textRuleProblem,
  }),
  queryLimits: group<PackOptions>('how large a query may be', PACK_OPTIONS),
  onQueries: func<OnQueries>('told of the queries before the first request'),
} satisfies OptionTable<SearchRulesOptions>;

/**
 * Fetches the posts that match a query, newest first. Each page is delivered as a batch with a cursor. While
 * the consumer processes a page, the next page is requested. Server errors, rate limits and broken
 * connections are retried. A post may be repeated on the next page; `dedupe` removes repeated posts. The flow
 * ends after the last page.
 *
 * @throws OptionError immediately, for invalid options or missing settings of the account.
 * @throws HttpError, ConnectionError, DataError from the flow, if the first page fails.
 * @throws IncompleteError from the flow, if a later page fails: `cause` is the error of the page, and
 * `cursor` is the cursor to resume from.
 * @example
 * const posts = search(account(), {
 *   query: 'snow lang:en',
 *   product: 'fullarchive',
 *   fromDate: '201401010000',
 *   toDate: '201401020000',
 * });
 * for await (const post of posts) console.log(post.id, post.text);
 */
export function search(
  account: Account,
  options: SearchOptions | SearchRulesOptions,
): Flow<Activity> {
  return isForRules(options) ? searchRules(account, options) : searchQuery(account, options);
}

export function isForRules(
  options: SearchOptions | SearchRulesOptions,
): options is SearchRulesOptions {
  return isRecord(options) && 'rules' in options;
}

function searchQuery(account: Account, options: SearchOptions): Flow<Activity> {
  const { queries, budget, shard, onDamaged } = prepareQuery(account, options);
  const [query] = queries;
  const step = { step: 'search', ...query.checkpointIdentity };
  const part = shard === undefined ? query : shardOfQuery(query, shard);
  return sourceFlow(step, run =>
    reportingDamaged(run, onDamaged, report => {
      const [query] = withBudget(part === undefined ? [] : [part], budget);
      return query === undefined ? none() : runQuery(query, () => postResults(report), run);
    }),
  );
}

export function prepareQuery(account: Account, options: SearchOptions) {
  const checked = checkAccountOptions('search', account, SEARCH_OPTIONS, options);
  const { slices, budget = {}, onDamaged, incremental } = checked;
  const { shard = account.settings.shard } = checked;
  refuseParts(incremental === true, { limit: checked.limit, pages: checked.pages, shard });
  const whole = slices > 1 ? 'slices' : shard && 'shard';
  for (const name of ['limit', 'pages', 'next'] as const)
    if (whole !== undefined && checked[name] !== undefined)
      throw optionError('search', whole, `fetches a whole window: leave out \`${name}\``);
  const { limit = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } = checked;
  const { maxResults = Math.min(Math.max(limit, MIN_RESULTS), MAX_RESULTS) } = checked;
  checkBudget(budget, { maxResults, slices });
  const given = { ...checked, maxResults, shard };
  const query = checkQuery('search', account, SEARCH_OPTIONS, given, { limit, pages, slices });
  warnOfRules('search', 'search', [checked.query]);
  return { queries: [query] as const, budget, shard, onDamaged };
}

function searchRules(account: Account, options: SearchRulesOptions): Flow<Activity> {
  const prepared = prepareRules(account, options);
  const { queries, packed, rules, matcher, budget, shard, onDamaged } = prepared;
  const packing = packingId(rules, packed);
  const { query: _, ...identity } = queries[0].checkpointIdentity;
  const step = { step: 'search', rules: packing, ...identity };
  const parts =
    shard === undefined ? queries : queries.flatMap(one => shardOfQuery(one, shard) ?? []);
  return sourceFlow(step, run => {
    const [first, ...others] = withBudget(parts, budget);
    if (first === undefined) return none();
    const search = { ...prepared, packing, queries: [first, ...others] } as const;
    return reportingDamaged(run, onDamaged, report =>
      runPacked({ ...search, makeResults: () => postResults(report, matcher) }, run),
    );
  });
}

export function prepareRules(account: Account, options: SearchRulesOptions) {
  for (const [name, problem] of Object.entries(RULES_HAVE_NO))
    if (options[name as keyof SearchRulesOptions] !== undefined)
      throw optionError('search', name, problem);
  const checked = checkAccountOptions('search', account, RULES_OPTIONS, options);
  const { rules, queryLimits, slices, budget = {}, onDamaged, onQueries, incremental } = checked;
  const { maxResults = MAX_RESULTS, shard = account.settings.shard } = checked;
  refuseParts(incremental === true, { shard });
  checkBudget(budget, { maxResults, slices });
  const packed = packRules(rules, queryLimits);
  const [first, ...others] = packed.map(({ query }) => {
    const given = { ...checked, query, maxResults, shard, resume: undefined };
    return checkQuery('search', account, SEARCH_OPTIONS, given, { slices });
  });
  warnOfRules(
    'search',
    'search',
    rules.map(({ value }) => value),
    packed.map(({ query }) => query),
  );
  const queries = [first as Query, ...others] as const;
  const matcher = compileRules(rules, { product: 'search' });
  const { resume } = checked;
  return { queries, packed, rules, matcher, budget, shard, onDamaged, onQueries, resume };
}

const RULES_HAVE_NO = {
  query: 'and `rules` both say what posts match: pass one of them',
  tag: 'cannot be combined with `rules`: each rule has its own',
  next: 'cannot be combined with `rules`: it belongs to one query',
  limit:
    'cannot be combined with `rules`, whose queries come one after the other: use `take`, or `budget`',
  pages: 'cannot be combined with `rules`, whose queries come one after the other: use `budget`',
};

function withBudget(queries: readonly Query[], budget: Budget): Query[] {
  const spending = new Spending(budget, Number(queries[0]?.params.maxResults));
  return queries.map(query => ({ ...query, spending }));
}

/**
 * Refuses options that limit the run to a part of the window. An incremental search must cover its whole
 * window.
 */
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
 * Returns the part of a query that a shard fetches. Returns `undefined` if the shard has no minute, because
 * the window has fewer minutes than there are shards.
 */
export function shardOfQuery(query: Query, shard: Shard): Query | undefined {
  const { fromDate, toDate } = query.params;
  if (fromDate === undefined || toDate === undefined)
    throw optionError(
      'search',
      'shard',
      'needs `fromDate` and `toDate`: without them, every process has another window',
    );
  const part = partOf(windowOf({ fromDate: String(fromDate), toDate: String(toDate) }), shard);
  if (part === undefined) return undefined;
  const dates = datesOf(part);
  const params = { ...query.params, ...dates };
  const identity = { ...query.identity, ...dates };
  return { ...query, params, identity };
}

async function* none(): Batches<never> {}

const POST_LIMITS = recordLimits('search');

/**
 * Creates the functions that parse the pages of posts of one run.
 *
 * @param matcher Sets the matching rules of the posts. Without it, posts keep the tag that the service sent.
 */
function postResults(onDamaged: OnDamaged | undefined, matcher?: RuleMatcher): Results<Activity> {
  return {
    onDamaged,
    parse: (bytes, origin) =>
      withOrigin(origin, () => {
        const post = parsePost(bytes);
        const matching = matcher?.match(post);
        return matching === undefined ? post : post.withMatchingRules(matching);
      }),
    /**
     * Returns the time of a post, or `undefined` if the time is invalid. Progress then ignores the post, and
     * the consumer gets the error when it reads the time.
     */
    timeOf(post) {
      try {
        return post.postedAt.getTime();
      } catch {
        return undefined;
      }
    },
    fractionOf: ({ from, to }, { reached }) =>
      reached === undefined ? 0 : (to - reached) / (to - from),
    missing({ window: { fromDate = 'the start', toDate = 'now' }, reached }) {
      const to = reached === undefined ? toDate : formatTimestamp(reached + MINUTE);
      return `posts from ${fromDate} to ${to}`;
    },
  };
}

function parsePost(bytes: Buffer): Activity {
  const { maxBytes, maxDepth } = POST_LIMITS;
  if (bytes[0] !== 0x7b) throw new DataError(`A result is not a post: ${excerpt(bytes)}`);
  if (bytes.length > maxBytes) throw new DataError(`A result is larger than ${maxBytes} bytes`);
  checkObject(bytes, maxDepth, 'A result');
  const post = new Activity(bytes);
  // Reading the id throws if the post has no id.
  void post.id;
  return post;
}
