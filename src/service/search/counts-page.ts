import { compileRule } from '../../rules/match/compile-rule.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, type Window } from '../../time.js';
import type { ArchiveQuery, CountedBucket } from '../archive/archive.js';
import type { ServiceContext } from '../context.js';
import { type HttpResponse, jsonResponse, type RequestContext } from '../http/router.js';
import {
  type EndpointParameters,
  resolveRequest,
  type SearchParts,
  type SearchRequest,
} from './check-search-request.js';

const BUCKETS = { day: DAY, hour: HOUR, minute: MINUTE } as const;
type Bucket = keyof typeof BUCKETS;

/** One page of counts. */
export async function countsPage(
  incoming: RequestContext,
  { context, product, given }: SearchParts,
): Promise<HttpResponse> {
  const request = resolveRequest(product, given, PARAMETERS, context);
  const { tree, window, parameters, nextAfter } = request;
  const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
  const page = { request, rule, context, incoming, bucketMs: BUCKETS[parameters.bucket] };
  const isAscending = context.settings.countsOrder === 'ascending';
  const { buckets, edge } = await (isAscending ? countForwards(page) : countBackwards(page));
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
  /** Its `after` is the bucket boundary where the previous page ended. */
  readonly request: SearchRequest<unknown>;
  readonly rule: ArchiveQuery;
  readonly context: ServiceContext;
  readonly incoming: RequestContext;
  readonly bucketMs: number;
}

interface CountedPage {
  readonly buckets: readonly CountedBucket[];
  /** The start of the next page. */
  readonly edge: number | undefined;
}

/** Pages from the oldest bucket to the newest. */
async function countForwards(page: PageRequest): Promise<CountedPage> {
  const { request, context, incoming, bucketMs } = page;
  const { limits, countsTimeoutMs } = context.settings;
  const { bucketsUntilTimeout = Number.POSITIVE_INFINITY } = incoming;
  const { window, after } = request;
  const from = after?.at ?? window.from;
  const to = Math.min(
    window.to,
    floorTo(bucketMs, from + limits.responseSpanMs),
    floorTo(bucketMs, from) + bucketsUntilTimeout * bucketMs,
  );
  const { buckets, reached } = await countWindow({ from, to }, page, countsTimeoutMs);
  return { buckets, edge: reached < window.to ? reached : undefined };
}

/** Pages from the newest bucket to the oldest. Counts day by day, so that a timeout leaves no gap. */
async function countBackwards(page: PageRequest): Promise<CountedPage> {
  const { request, context, incoming, bucketMs } = page;
  const { limits, countsTimeoutMs } = context.settings;
  const { bucketsUntilTimeout = Number.POSITIVE_INFINITY } = incoming;
  const { window, after } = request;
  const to = after?.at ?? window.to;
  const from = Math.max(
    window.from,
    ceilTo(bucketMs, to - limits.responseSpanMs),
    ceilTo(bucketMs, to) - bucketsUntilTimeout * bucketMs,
  );
  const deadline = performance.now() + countsTimeoutMs;
  const buckets: CountedBucket[] = [];
  let reached = to;
  while (reached > from && (reached === to || performance.now() < deadline)) {
    const start = Math.max(from, floorTo(DAY, reached - 1));
    const counted = await countWindow({ from: start, to: reached }, page);
    buckets.push(...counted.buckets.toReversed());
    reached = start;
  }
  return { buckets, edge: reached > window.from ? reached : undefined };
}

/** Counts a window, and adds the empty buckets at its end that are too new to hold posts. */
async function countWindow(
  { from, to }: Window,
  { request, rule, context, incoming, bucketMs }: PageRequest,
  deadlineMs?: number,
): Promise<{ readonly buckets: readonly CountedBucket[]; readonly reached: number }> {
  const counted: CountedBucket[] = [];
  // Newer posts are not found yet.
  const full = Math.min(to, request.asOf - context.settings.limits.searchDelayMs);
  if (from < full) {
    const archive = await context.archive();
    const window = { from, to: full };
    const { signal } = incoming;
    const answer = await archive.counts(rule, window, bucketMs, { deadlineMs, signal });
    counted.push(...answer.buckets);
    if (answer.reached < full) return { buckets: counted, reached: answer.reached };
  }
  const last = counted.at(-1);
  let start = last === undefined ? floorTo(bucketMs, from) : last.start + bucketMs;
  for (; start < to; start += bucketMs) counted.push({ start, count: 0 });
  return { buckets: counted, reached: to };
}

function ceilTo(unit: number, ms: number): number {
  return -floorTo(unit, -ms);
}
