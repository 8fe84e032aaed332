import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, type Window } from '../../base/time.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import type { ArchiveQuery, CountedBucket, CountsResult } from '../archive/archive.js';
import { type HandlerResponse, jsonResponse, type RequestContext } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import {
  type EndpointParameters,
  resolveRequest,
  type SearchParts,
  type SearchRequest,
} from './check-search-request.js';

const BUCKETS = { day: DAY, hour: HOUR, minute: MINUTE } as const;
type Bucket = keyof typeof BUCKETS;

export async function countsPage(
  incoming: RequestContext,
  { context, product, given, countsEnds }: SearchParts,
): Promise<HandlerResponse> {
  const request = resolveRequest(product, given, PARAMETERS, context);
  const { tree, window, parameters, nextAfter } = request;
  const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
  const bucketMs = BUCKETS[parameters.bucket];
  const newestFirst = context.settings.countsOrder === 'descending';
  const page = { request, rule, context, incoming, bucketMs, newestFirst, countsEnds };
  const { buckets, edge } = await countBuckets(page);
  return jsonResponse(200, {
    results: buckets.map(bucket => ({
      timePeriod: formatTimestamp(bucket.start),
      count: bucket.count,
    })),
    totalCount: buckets.reduce((sum, bucket) => sum + bucket.count, 0),
    next: edge === undefined ? undefined : nextAfter({ at: edge, id: '0' }),
    requestParameters: {
      bucket: parameters.bucket,
      fromDate: formatTimestamp(window.from),
      toDate: formatTimestamp(window.to),
    },
  });
}

const PARAMETERS: EndpointParameters<{ readonly bucket: Bucket }> = {
  endpoint: 'counts',
  names: ['bucket'],
  read({ bucket = 'hour' }, problems) {
    if (typeof bucket !== 'string' || !Object.hasOwn(BUCKETS, bucket))
      problems.push(
        `Invalid value for parameter 'bucket'. It must be one of ${Object.keys(BUCKETS).join(', ')}.`,
      );
    return { bucket: bucket as Bucket };
  },
};

interface PageRequest {
  /** The request. Its `after` is the bucket boundary at which the previous page ended. */
  readonly request: SearchRequest<unknown>;
  readonly rule: ArchiveQuery;
  readonly context: ServiceContext;
  readonly incoming: RequestContext;
  readonly bucketMs: number;
  readonly newestFirst: boolean;
  readonly countsEnds: SearchParts['countsEnds'];
}

interface CountedPage {
  readonly buckets: readonly CountedBucket[];
  /** The bucket boundary at which the next page begins. */
  readonly edge: number | undefined;
}

async function countBuckets(page: PageRequest): Promise<CountedPage> {
  const { window } = page.request;
  const { buckets, counted } = await countAgain(spanOf(page), page);
  return page.newestFirst
    ? { buckets: buckets.toReversed(), edge: counted.from > window.from ? counted.from : undefined }
    : { buckets, edge: counted.to < window.to ? counted.to : undefined };
}

/**
 * Returns the longest window that a page covers: 31 days in whole buckets. A planted fault can end it
 * earlier.
 */
function spanOf({ request, context, incoming, bucketMs, newestFirst }: PageRequest): Window {
  const { window, after } = request;
  const { responseSpanMs } = context.settings.limits;
  const faultMs = (incoming.bucketsUntilTimeout ?? Number.POSITIVE_INFINITY) * bucketMs;
  if (newestFirst) {
    const to = after?.at ?? window.to;
    const earliest = Math.max(
      ceilTo(bucketMs, to - responseSpanMs),
      ceilTo(bucketMs, to) - faultMs,
    );
    return { from: Math.max(window.from, earliest), to };
  }
  const from = after?.at ?? window.from;
  const latest = Math.min(
    floorTo(bucketMs, from + responseSpanMs),
    floorTo(bucketMs, from) + faultMs,
  );
  return { from, to: Math.min(window.to, latest) };
}

/**
 * Returns the counts of one page. Every request with the same `next` gets a page that ends at the same
 * bucket, even if counting takes longer than before. Only a planted fault can end the page at another bucket.
 */
async function countAgain(asked: Window, page: PageRequest): Promise<CountsResult> {
  const { countsEnds, incoming, request } = page;
  const { next } = request;
  const known = () =>
    incoming.bucketsUntilTimeout === undefined ? countsEnds.get(next) : undefined;
  const before = known();
  if (before !== undefined) return countFound(before, page);
  const answer = await countWindow(asked, page);
  // If another request with the same `next` was answered while this one waited, returns the same page.
  const other = known();
  if (other !== undefined) return countFound(other, page);
  countsEnds.set(next, answer.counted);
  return answer;
}

/** Counts as many whole buckets as the time limit allows, but at least one. */
async function countWindow(asked: Window, page: PageRequest): Promise<CountsResult> {
  const { context, bucketMs, newestFirst } = page;
  const { buckets, counted } = await countFound(asked, page, context.settings.countsTimeoutMs);
  const whole = newestFirst
    ? { ...asked, from: counted.from > asked.from ? ceilTo(bucketMs, counted.from) : asked.from }
    : { ...asked, to: counted.to < asked.to ? floorTo(bucketMs, counted.to) : asked.to };
  if (whole.from < whole.to) {
    const isWhole = ({ start }: CountedBucket) =>
      start >= floorTo(bucketMs, whole.from) && start < whole.to;
    return { buckets: buckets.filter(isWhole), counted: whole };
  }
  const one = newestFirst
    ? { ...asked, from: Math.max(ceilTo(bucketMs, asked.to) - bucketMs, asked.from) }
    : { ...asked, to: Math.min(floorTo(bucketMs, asked.from) + bucketMs, asked.to) };
  return countFound(one, page);
}

/**
 * Counts the posts of a window. Posts at its end may be too recent to be found. The buckets there are empty.
 */
async function countFound(
  { from, to }: Window,
  { request, rule, context, incoming, bucketMs, newestFirst }: PageRequest,
  deadlineMs?: number,
): Promise<CountsResult> {
  // From this time on, posts are outside the window or too recent to be found.
  const full = Math.min(to, request.asOf - context.settings.limits.searchDelayMs);
  const found: CountedBucket[] = [];
  let counted = { from, to };
  if (from < full) {
    const archive = await context.archive();
    const options = { newestFirst, deadlineMs, signal: incoming.signal };
    const answer = await archive.counts(rule, { from, to: full }, bucketMs, options);
    if (answer.counted.to < full) return answer;
    found.push(...answer.buckets);
    counted = { from: answer.counted.from, to };
  }
  const last = found.at(-1);
  let start = last === undefined ? floorTo(bucketMs, counted.from) : last.start + bucketMs;
  for (; start < to; start += bucketMs) found.push({ start, count: 0 });
  return { buckets: found, counted };
}

function ceilTo(unit: number, ms: number): number {
  return -floorTo(unit, -ms);
}
