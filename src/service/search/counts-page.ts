import { compileRule } from '../../rules/match/compile-rule.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, type Window } from '../../time.js';
import type { ArchiveQuery, CountedBucket } from '../archive/archive.js';
import type { ServiceContext } from '../context.js';
import { type HttpResponse, jsonResponse, type RequestContext } from '../http/router.js';
import {
  type EndpointParameters,
  resolveRequest,
  type SearchParts,
} from './check-search-request.js';

const BUCKETS = { day: DAY, hour: HOUR, minute: MINUTE } as const;
type Bucket = keyof typeof BUCKETS;

/** One page of counts. */
export async function countsPage(
  incoming: RequestContext,
  { context, product, given }: SearchParts,
): Promise<HttpResponse> {
  const request = resolveRequest(product, given, PARAMETERS, context);
  const { tree, window, parameters, asOf, after, nextAfter } = request;
  const { limits, countsOrder, countsTimeoutMs } = context.settings;
  const page: PageRequest = {
    rule: { tree, matches: compileRule(tree, { product: 'search' }) },
    window,
    edge: after?.at,
    bucketMs: BUCKETS[parameters.bucket],
    spanMs: limits.responseSpanMs,
    searchable: asOf - limits.searchDelayMs,
    timeoutMs: countsTimeoutMs,
    bucketsUntilTimeout: incoming.bucketsUntilTimeout,
    signal: incoming.signal,
  };
  const count = countsOrder === 'ascending' ? countForwards : countBackwards;
  const { buckets, edge } = await count(page, context);
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
  readonly rule: ArchiveQuery;
  readonly window: Window;
  /** The bucket boundary where the previous page ended. */
  readonly edge: number | undefined;
  readonly bucketMs: number;
  readonly spanMs: number;
  /** Posts from this instant on are too new to be found. */
  readonly searchable: number;
  readonly timeoutMs: number;
  readonly bucketsUntilTimeout: number | undefined;
  readonly signal: AbortSignal;
}

interface CountedPage {
  readonly buckets: readonly CountedBucket[];
  /** The start of the next page. */
  readonly edge: number | undefined;
}

/** Pages from the oldest bucket to the newest. */
async function countForwards(page: PageRequest, context: ServiceContext): Promise<CountedPage> {
  const { window, edge, bucketMs, spanMs, bucketsUntilTimeout = Number.POSITIVE_INFINITY } = page;
  const from = edge ?? window.from;
  const to = Math.min(
    window.to,
    floorTo(bucketMs, from + spanMs),
    floorTo(bucketMs, from) + bucketsUntilTimeout * bucketMs,
  );
  const { buckets, reached } = await countWindow({ from, to }, page.timeoutMs, page, context);
  return { buckets, edge: reached < window.to ? reached : undefined };
}

/** Pages from the newest bucket to the oldest. Counts day by day, so that a timeout leaves no gap. */
async function countBackwards(page: PageRequest, context: ServiceContext): Promise<CountedPage> {
  const { window, edge, bucketMs, spanMs, bucketsUntilTimeout = Number.POSITIVE_INFINITY } = page;
  const to = edge ?? window.to;
  const from = Math.max(
    window.from,
    ceilTo(bucketMs, to - spanMs),
    ceilTo(bucketMs, to) - bucketsUntilTimeout * bucketMs,
  );
  const deadline = performance.now() + page.timeoutMs;
  const buckets: CountedBucket[] = [];
  let reached = to;
  while (reached > from && (reached === to || performance.now() < deadline)) {
    const start = Math.max(from, floorTo(DAY, reached - 1));
    const counted = await countWindow({ from: start, to: reached }, undefined, page, context);
    buckets.push(...counted.buckets.toReversed());
    reached = start;
  }
  return { buckets, edge: reached > window.from ? reached : undefined };
}

/** Counts a window, and adds the empty buckets at its end that are too new to hold posts. */
async function countWindow(
  { from, to }: Window,
  deadlineMs: number | undefined,
  { rule, bucketMs, searchable, signal }: PageRequest,
  context: ServiceContext,
): Promise<{ readonly buckets: readonly CountedBucket[]; readonly reached: number }> {
  const counted: CountedBucket[] = [];
  const full = Math.min(to, searchable);
  if (from < full) {
    const archive = await context.archive();
    const window = { from, to: full };
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
