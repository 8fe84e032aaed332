import { createHash } from 'node:crypto';
import { formatTimestamp } from '../../base/time.js';
import type { MatchingRule } from '../../post/activity.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import {
  type ArchivedPost,
  newestFirst,
  type SearchOptions,
  type SortKey,
} from '../archive/archive.js';
import type { HandlerResponse, RequestContext } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import {
  type EndpointParameters,
  resolveRequest,
  type SearchParts,
  type SearchRequest,
  stringParameter,
} from './check-search-request.js';
import { PageEnds, type PostsEnd } from './page-ends.js';

interface DataParameters {
  readonly maxResults: number;
  readonly tag: string | null;
}

export async function searchPage(
  incoming: RequestContext,
  { context, product, given, postsEnds }: SearchParts,
): Promise<HandlerResponse> {
  const request = resolveRequest(product, given, searchParameters(context), context);
  const { window, parameters } = request;
  const { posts, next } = await findPage(request, context, incoming.signal, postsEnds);
  const rule = matchingRule(request);
  if (incoming.request.method !== 'HEAD') {
    incoming.countPosts(posts.length);
    const ids = posts.map(({ id }) => id);
    context.usage.delivered(product, ids);
  }
  const body: Uint8Array[] = [];
  // Posts are sent byte for byte as stored, except for their matching rules.
  for (const { activity } of posts)
    body.push(body.length === 0 ? OPEN : COMMA, activity.withMatchingRules([rule]).raw);
  if (body.length === 0) body.push(OPEN);
  const rest = JSON.stringify({
    next,
    requestParameters: {
      maxResults: parameters.maxResults,
      fromDate: formatTimestamp(window.from),
      toDate: formatTimestamp(window.to),
    },
  });
  body.push(Buffer.from(`],${rest.slice(1)}`));
  return { status: 200, body };
}

const OPEN = Buffer.from('{"results":[');
const COMMA = Buffer.from(',');

export function searchParameters({
  settings: { limits },
}: ServiceContext): EndpointParameters<DataParameters> {
  return {
    endpoint: 'search',
    names: ['maxResults', 'tag'],
    read(given, problems) {
      const { maxResults: value = limits.maxResultsDefault } = given;
      // Parameters of a GET are always strings, and some clients send strings in a POST, too.
      const isDigits = typeof value === 'string' && /^\d{1,9}$/.test(value);
      const maxResults = isDigits || Number.isInteger(value) ? Number(value) : Number.NaN;
      if (!(maxResults >= limits.maxResultsMin && maxResults <= limits.maxResultsMax))
        problems.push(
          "Invalid value for parameter 'maxResults'. " +
            `It must be an integer from ${limits.maxResultsMin} to ${limits.maxResultsMax}.`,
        );
      return { maxResults, tag: stringParameter('tag', given, problems) ?? null };
    },
  };
}

interface Page extends PostsEnd {
  readonly posts: readonly ArchivedPost[];
  readonly next: string | undefined;
  /** Whether the page ends because it is full. */
  readonly isFull?: boolean;
}

/**
 * Returns the posts of a page, newest first, and the `next` of the next page.
 *
 * @param ends The ends of earlier pages. Every request with the same `next` then gets the same page.
 */
export async function findPage(
  request: SearchRequest<DataParameters>,
  context: ServiceContext,
  signal: AbortSignal,
  ends = new PageEnds<PostsEnd>(),
): Promise<Page> {
  const { next } = request;
  const known = ends.get(next);
  if (known !== undefined) return findAgain(known, request, context, signal);
  const deadlineMs = context.settings.searchTimeoutMs;
  const page = await findPosts(request, context, { deadlineMs, signal });
  // While this request waited, another request with the same `next` may have been answered.
  const other = ends.get(next);
  if (other !== undefined) return findAgain(other, request, context, signal);
  ends.set(next, { reached: page.reached });
  return page;
}

/** Returns a page that ends where it has ended before. */
async function findAgain(
  end: PostsEnd,
  request: SearchRequest<DataParameters>,
  context: ServiceContext,
  signal: AbortSignal,
): Promise<Page> {
  const { reached } = end;
  const page = await findPosts(request, context, { from: reached?.at, signal });
  if (reached === undefined) return page;
  const posts = page.posts.filter(post => newestFirst(post, reached) <= 0);
  // A test may have added posts since the page was first sent. If the page is full before `reached`, it ends
  // earlier than before.
  if (page.isFull && posts.length === page.posts.length) return page;
  return { posts, next: request.nextAfter(reached), reached };
}

interface FindOptions extends Pick<SearchOptions, 'deadlineMs' | 'signal'> {
  /** Posts before this time, in epoch milliseconds, are not searched. */
  readonly from?: number | undefined;
}

async function findPosts(
  request: SearchRequest<DataParameters>,
  { settings, archive }: ServiceContext,
  { from: oldest = Number.NEGATIVE_INFINITY, deadlineMs, signal }: FindOptions,
): Promise<Page> {
  const { tree, window, asOf, after, parameters, nextAfter } = request;
  const { responseSpanMs, searchDelayMs } = settings.limits;
  const found = Math.min(window.to, asOf - searchDelayMs);
  const to = after === undefined ? found : Math.min(found, after.at + 1);
  const from = Math.max(window.from, to - responseSpanMs);
  if (from >= to) return { posts: [], next: undefined };
  const matches = compileRule(tree, { product: 'search' });
  const { posts, more, reached } = await (await archive()).search(
    { tree, matches },
    { from: Math.max(from, oldest), to },
    { limit: parameters.maxResults, after, asOf, deadlineMs, signal },
  );
  const last = posts.at(-1);
  if (more && last !== undefined) {
    const next = nextAfter(settings.duplicatesAtPageEdges ? justBefore(last) : last);
    return { posts, next, isFull: true };
  }
  if (reached !== undefined) return { posts, next: nextAfter(reached), reached };
  // A response covers at most 31 days. If the window goes back further, there is a next page, even if this
  // page has no posts.
  return { posts, next: from > window.from ? nextAfter({ at: from, id: '0' }) : undefined };
}

/** Returns the position just before a post. A page that starts after this position begins with the post. */
function justBefore({ at, id }: SortKey): SortKey {
  return { at, id: String(BigInt(id) + 1n) };
}

/**
 * Returns the matching rule of a search. The rule is not stored. Its id has 63 bits and is derived from its text
 * and tag, so the same search always has the same id.
 */
function matchingRule({ query, parameters: { tag } }: SearchRequest<DataParameters>): MatchingRule {
  const digest = createHash('sha256')
    .update(JSON.stringify([query, tag]))
    .digest();
  return { tag, id: String(digest.readBigUInt64BE() >> 1n) };
}
