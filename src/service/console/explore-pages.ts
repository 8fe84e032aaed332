import { DAY, formatTimestamp, HOUR, MINUTE, parseTimestamp } from '../../base/time.js';
import { checkRule } from '../../rules/language/check-rule.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import { matchedTerms } from '../../rules/match/matched-terms.js';
import { HttpProblem } from '../http/http-problem.js';
import {
  resolveRequest,
  SEARCH_PRODUCTS,
  type SearchProduct,
  type SearchRequest,
} from '../search/check-search-request.js';
import { findPage, searchParameters } from '../search/search-page.js';
import type { ConsolePage, Visit } from './console-page.js';
import { curlOf, nodeCommand, pathOf, typescriptOf } from './endpoint-list.js';
import { type Bar, barChart } from './html/bar-chart.js';
import { type Html, html } from './html/html.js';
import {
  choices,
  command,
  instant,
  instantText,
  messageBox,
  options,
  printCount,
  renderWindow,
} from './html/page-parts.js';
import { pagerOf, withParameters } from './html/table.js';
import { postView } from './post-view.js';
import { problemsView } from './rule-view.js';

export const EXPLORE = '/console/explore';
export const RULE_TEST = '/console/explore/rules';

/** Searches on these pages do not count as requests or as usage. */
export const explorePages: readonly ConsolePage[] = [
  {
    pattern: EXPLORE,
    section: 'explore',
    async show(visit) {
      const { url } = visit;
      const asked = await askedBy(visit);
      const { query } = asked;
      const { problems } = checkRule(query, { product: 'search' });
      const isInvalid = problems.some(({ severity }) => severity === 'error');
      const withRule = (rule: string) =>
        withParameters(url, { query: rule, next: undefined, check: undefined });
      // While the user types, the page's script requests this page with the parameter `check`. It needs only
      // the problems of the query, so nothing is searched.
      const isDue = url.searchParams.has('query') && !url.searchParams.has('check');
      return {
        title: 'Explore',
        lead: 'The posts that a query finds, as search of the 30-day and the full archive finds them. It counts neither as a request nor for usage.',
        body: html`${tabs(EXPLORE)}<section class="card" aria-label="Query">${queryForm(asked)}
<div id="problems" data-live aria-live="polite">${query !== '' && problems.length > 0 && problemsView(query, problems, withRule)}</div></section>
${isDue && !isInvalid && (await resultOf(asked, visit))}`,
      };
    },
  },
];

const TABS = { [EXPLORE]: 'Posts of a query', [RULE_TEST]: 'Rules for a post' } as const;

export function tabs(current: keyof typeof TABS): Html {
  const pages = Object.keys(TABS) as (keyof typeof TABS)[];
  return choices('What to explore', pages, current, page => [TABS[page], page]);
}

interface Asked {
  readonly product: SearchProduct;
  readonly query: string;
  /** Times in the format of form fields: `2024-01-31 12:00`. */
  readonly from: string;
  readonly to: string;
}

/** Returns the search in the address of the page. If the address has no query, returns a search that finds posts. */
async function askedBy({ url: { searchParams }, context, firstSearch }: Visit): Promise<Asked> {
  const first = searchParams.has('query') ? undefined : await firstSearch();
  const { query = '', fromDate, toDate } = first?.parameters ?? {};
  const field = (timestamp: string | undefined) =>
    timestamp === undefined ? '' : fieldOf(parseTimestamp(timestamp) ?? 0);
  const last = searchParams.get('last') ?? '';
  const span = Object.hasOwn(SPANS, last) ? SPANS[last as keyof typeof SPANS][1] : undefined;
  const since = span === undefined ? undefined : context.clock.now() - span;
  const aDayAgo = formatTimestamp(context.clock.now() - DAY);
  const product = searchParams.get('product') ?? first?.product;
  return {
    product: product === 'fullarchive' ? product : '30day',
    query: searchParams.get('query') ?? query,
    from:
      since !== undefined
        ? fieldOf(since)
        : (searchParams.get('from') ?? field(fromDate ?? (first && aDayAgo))),
    to: since !== undefined ? '' : (searchParams.get('to') ?? field(toDate)),
  };
}

/** The windows that the buttons select. Each window ends now. */
const SPANS = {
  '1h': ['hour', HOUR],
  '1d': ['day', DAY],
  '7d': ['7 days', 7 * DAY],
  '30d': ['30 days', 30 * DAY],
} as const;

/** Formats a time as `2024-01-31 12:00`, in UTC. */
const fieldOf = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

/**
 * Converts a time typed into a form field to the format that requests use. Text that is not a time stays
 * unchanged, so that the service refuses it.
 */
function timestampOf(typed: string): string {
  const digits = typed.replace(/\D/g, '').slice(0, 12);
  return digits.length === 8 ? `${digits}0000` : digits || typed;
}

function queryForm({ product, query, from, to }: Asked): Html {
  const date = (name: string, label: string, value: string, hint: string) =>
    html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="text" autocomplete="off" placeholder="2024-01-31 23:59" value="${value}" aria-describedby="${name}-hint"><span class="hint" id="${name}-hint">${hint}</span></div>`;
  return html`<form action="${EXPLORE}" data-check>
<div class="field"><label for="query">Query</label><textarea id="query" name="query" rows="2" spellcheck="false" autocapitalize="none" aria-describedby="problems" required>${query}</textarea></div>
<div class="fields"><div class="field"><label for="product">Product</label><select id="product" name="product">${options(SEARCH_PRODUCTS, product)}</select></div>
${date('from', 'From', from, 'in UTC; by default 30 days before the end')}${date('to', 'To', to, 'in UTC; by default now')}</div>
<div class="row"><button class="main">Search</button><span class="row tight" role="group" aria-label="Search the last">${Object.entries(
    SPANS,
  ).map(
    ([name, [words]]) =>
      html`<button class="plain" name="last" value="${name}">Last ${words}</button>`,
  )}</span></div></form>`;
}

/** The number of posts on a page, which is the minimum that the service allows. */
const POSTS = 10;

async function resultOf({ product, query, from, to }: Asked, visit: Visit): Promise<Html> {
  const { context, url, signal } = visit;
  const given = {
    query,
    ...(from !== '' && { fromDate: timestampOf(from) }),
    ...(to !== '' && { toDate: timestampOf(to) }),
    maxResults: String(POSTS),
  };
  // The tokens of all pages up to this page. The links to earlier pages need them.
  const pages = url.searchParams.getAll('next');
  const next = pages.at(-1);
  const pageAt = (all: readonly string[]) =>
    withParameters(url, { from, to, last: undefined, next: all });
  try {
    const parameters = searchParameters(context);
    const request = resolveRequest(product, { ...given, next }, parameters, context);
    const { posts, next: older, reached } = await findPage(request, context, signal);
    const pager =
      (older ?? next) !== undefined &&
      pagerOf(`page ${pages.length + 1}`, [
        pages.length > 1 && ['first', 'First', pageAt([])],
        pages.length > 0 && ['prev', 'Newer', pageAt(pages.slice(0, -1))],
        older !== undefined && ['next', 'Older', pageAt([...pages, older])],
      ]);
    return html`${next === undefined && (await chartOf(request, visit))}
<section class="card" aria-labelledby="posts"><h2 id="posts">Posts</h2>
${posts.length === 0 ? html`<p class="empty">${reached !== undefined ? `Not found within ${context.settings.searchTimeoutMs / 1000} s. Choose a shorter window, or continue with older posts.` : older === undefined ? 'None in this window.' : 'None in the newest part of this window.'}</p>` : posts.map(({ activity }) => postView(activity, matchedTerms(query, activity, 'search')))}${pager}</section>
<section class="card" aria-labelledby="request"><h2 id="request">This request</h2>${commandsOf(product, given, visit)}</section>`;
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return messageBox({ tone: 'bad', text: inFields(error.message) });
  }
}

const FIELDS: Readonly<Record<string, string>> = { fromDate: 'From', toDate: 'To', query: 'Query' };

/** Rewrites a message about parameters of a request as a message about fields of the form. */
function inFields(message: string): string {
  if (message.includes("'next'")) return 'This page belongs to another search. Search again.';
  return message
    .replace(/^There were errors processing your request: /, '')
    .replace(
      /Invalid (?:value|date|date format) for (?:query )?parameter '(\w+)'\./g,
      (_, name) => `${FIELDS[name] ?? name}:`,
    )
    .replace(/Expected format is .*? UTC\./, 'It must be a time such as 2024-01-31 23:59.')
    .replace(/'(fromDate|toDate)'/g, (_, name) => `“${FIELDS[name]}”`);
}

function commandsOf(
  product: SearchProduct,
  given: Readonly<Record<string, string>>,
  { addresses: { baseUrl, account, label } }: Visit,
): Html {
  const address = `${baseUrl}/search/${product}/accounts/${pathOf(account, label)}.json`;
  const { maxResults, ...options } = given;
  const source = `search(account(), ${JSON.stringify({ product, ...options, limit: Number(maxResults) })})`;
  const script = `await pipeline(${source}, stdout());`;
  return html`<p class="quiet">For a shell that has the <a href="/console#start">variables of the overview</a>.</p>
${command('curl', curlOf(`${address}?${new URLSearchParams(given)}`, {}))}${command('Millrace', nodeCommand(script), typescriptOf(script))}`;
}

const BUCKETS = [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
const MAX_BARS = 62;
/** The maximum time that a page waits for counts, in milliseconds of real time. */
const COUNT_MS = 2_000;

async function chartOf(
  { tree, window, asOf }: SearchRequest<unknown>,
  { context, signal, url }: Visit,
): Promise<Html> {
  const { from } = window;
  const to = Math.min(window.to, asOf - context.settings.limits.searchDelayMs);
  if (from >= to) return html``;
  const bucketMs = BUCKETS.find(ms => (to - from) / ms <= MAX_BARS) ?? 365 * DAY;
  const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
  const archive = await context.archive();
  const { buckets, counted } = await archive.counts(rule, { from, to }, bucketMs, {
    newestFirst: true,
    deadlineMs: COUNT_MS,
    signal,
  });
  const every = Math.ceil(buckets.length / 4);
  const bars = buckets.map(({ start, count }, index): Bar => {
    const name = instantText(start);
    const isLabelled = (buckets.length - 1 - index) % every === 0;
    const label = bucketMs < DAY ? name.slice(11, 16) : name.slice(0, 10);
    const part = {
      from: fieldOf(Math.max(start, from)),
      to: fieldOf(Math.min(start + bucketMs, to)),
    };
    const address =
      buckets.length > 1
        ? withParameters(url, { ...part, last: undefined, next: undefined })
        : undefined;
    return { name, label: isLabelled ? label : '', value: count, address };
  });
  const sum = buckets.reduce((all, { count }) => all + count, 0);
  const isPartial = counted.from > from;
  const total = `${isPartial ? 'At least ' : ''}${printCount(sum, 'post')}`;
  return html`<section class="card" aria-labelledby="counts"><h2 id="counts">${total}${isPartial && html` back to ${instant(counted.from)}`}</h2>
<p class="quiet">${renderWindow(counted)}${!context.compliance.hidesNothing && ', with deleted posts, which searches no longer find'}${isPartial && `. Counting the rest, back to ${instantText(from)}, takes longer than ${COUNT_MS / 1000} s`}</p>
${sum > 0 && barChart({ summary: `${total} over time`, bars })}</section>`;
}
