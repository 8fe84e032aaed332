import { setMaxListeners } from 'node:events';
import { answerOf } from '../base/abortable.js';
import { cursorError } from '../base/check.js';
import { DataError, IncompleteError, MillraceError } from '../base/errors.js';
import { partOf } from '../base/shard.js';
import {
  DAY,
  type Dates,
  datesOf,
  FIRST_POST,
  floorTo,
  formatTimestamp,
  MINUTE,
  parseTimestamp,
  type Window,
  windowOf,
} from '../base/time.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import { readAhead } from '../flow/read-ahead.js';
import type { OnDamaged } from '../json/records.js';
import { fetchPage, mustEqual, type Page, type ParseElement } from './fetch-page.js';
import { learnTime, nextWindow, reportGap, withoutExpired } from './incremental-window.js';
import { MIN_RESULTS, type Params, type Product, type Query, SPAN_30DAY } from './query.js';
import {
  advance,
  cursorOf,
  isOver,
  positionOf,
  type QueryPosition,
  startOf,
} from './query-cursor.js';

/**
 * The functions that parse and check the pages of one run. Runs for posts and runs for counts have different
 * functions. A new object is created for each run.
 */
export interface Results<T> {
  readonly parse: ParseElement<T>;
  /** Called with each damaged element of a page. If absent, the first damaged element ends the run. */
  readonly onDamaged?: OnDamaged | undefined;
  /** Checks the pages in order. Throws if a page contradicts itself or an earlier page. */
  receive?(page: Page<T>): void;
  /** Returns the time of an item in epoch milliseconds; `undefined` if the item has none. */
  timeOf(item: T): number | undefined;
  /** Returns the fraction of a window that was received, from 0 to 1. */
  fractionOf(window: Window, position: QueryPosition): number;
  missing(position: QueryPosition): string;
}

/** @param isWhole Whether the run starts at the first page. */
type MakeResults<T> = (isWhole: boolean, params: Params) => Results<T>;

/**
 * Runs a query. Each page is delivered as a batch with a cursor. While the consumer processes a page, the
 * next page is requested.
 */
export async function* runQuery<T>(
  checked: Query,
  makeResults: MakeResults<T>,
  run: Run,
): Batches<T> {
  const query = { ...checked, account: checked.account.withProgress(run.progress) };
  const { responses } = query.account.clock;
  const resume = run.resume ?? query.resume;
  const position = resume === undefined ? startOf(query) : positionOf(query, resume);
  let start: Start = { position, resume };
  if (query.runsEndAt === undefined) {
    yield* runWindow(query, start, makeResults, run);
    return;
  }
  if (resume !== undefined && !position.done) {
    // An earlier run has started the window `position.window`, but not finished it. This window comes first.
    let last = resume;
    if (query.product === '30day') await learnTime(query, responses, run.signal);
    const started = { ...withDates(query, position.window), mayHaveExpired: true };
    for await (const batch of runWindow(started, start, makeResults, run)) {
      last = batch.cursor ?? last;
      yield batch;
    }
    start = { position: positionOf(query, last), resume: last };
  }
  await learnTime(query, responses, run.signal);
  yield* runNextWindow(query, start, makeResults, run);
}

interface Start {
  readonly position: QueryPosition;
  readonly resume: Cursor | undefined;
}

async function* runNextWindow<T>(
  query: Query,
  { position: last, resume }: Start,
  makeResults: MakeResults<T>,
  run: Run,
): Batches<T> {
  const window = await nextWindow(query, last, resume, run.signal);
  if (window.fromDate >= window.toDate) {
    const nothing = { ...startOf(query), window: { toDate: window.fromDate }, done: true };
    yield { items: [], cursor: resume ?? cursorOf(query, nothing), origin: query.url.href };
    return;
  }
  const position = { ...startOf(query), window };
  const start = { position, resume };
  let isBegun = false;
  for await (const batch of runWindow(withDates(query, window), start, makeResults, run)) {
    // This cursor stores the window before any posts are delivered. A run that resumes from it requests the
    // same window, even if it starts later.
    if (!isBegun) yield { items: [], cursor: cursorOf(query, position), origin: query.url.href };
    isBegun = true;
    yield batch;
  }
}

export function withDates(query: Query, { fromDate = '', toDate = '' }: Partial<Dates>): Query {
  return { ...query, params: { ...query.params, fromDate, toDate } };
}

async function* runWindow<T>(
  query: Query,
  start: Start,
  makeResults: MakeResults<T>,
  run: Run,
): Batches<T> {
  let { position, resume: cursor } = start;
  if (isOver(query, position)) return;
  const isWhole = position.pages === 0 && position.next === undefined;
  const all = await requestsOf(query, position.window, run.signal);
  if (position.slice >= all.length) throw cursorError('is damaged');
  const isSliced = all.length > 1;
  if (isSliced) position = { ...position, window: wholeWindow(all) };
  const requests = query.mayHaveExpired ? await requestsLeft(query, all, start, run.signal) : all;
  const slices = requests.length;
  if (position.slice >= slices) {
    yield {
      items: [],
      cursor: cursorOf(query, { ...position, done: true }),
      origin: query.url.href,
    };
    return;
  }
  if (!isSliced && requests !== all) position = { ...position, window: wholeWindow(requests) };
  const results = makeResults(isWhole, isSliced ? query.params : (requests[0] as Params));
  const oldestOf = (slice: number) => {
    const { fromDate } = requests[slice] ?? {};
    return isSliced && fromDate !== all[slice]?.fromDate ? String(fromDate) : undefined;
  };
  let isInCallback = false;
  try {
    const pages = slicePages(query, { requests, isSliced }, position, results, run.signal);
    for await (const page of pages) {
      for (const { record, error } of page.damaged) {
        if (results.onDamaged === undefined) throw error;
        isInCallback = true;
        await answerOf(results.onDamaged(record, error), run.signal);
        isInCallback = false;
      }
      results.receive?.(page);
      const rest = query.limit - position.items;
      const items = page.items.slice(position.skip, position.skip + rest);
      const last = items.at(-1);
      const reached = last === undefined ? undefined : results.timeOf(last);
      position = advance(position, page, items.length, reached, { slices, isSliced });
      position = { ...position, oldest: oldestOf(position.slice) };
      cursor = cursorOf(query, position);
      const { progress } = run;
      if (progress !== undefined) {
        progress.received += items.length;
        progress.receivedBytes += page.receivedBytes;
        progress.reached = position.reached;
        progress.fraction = fractionOf(query, position, results) ?? progress.fraction;
      }
      yield { items, cursor, origin: query.url.href };
      if (isOver(query, position)) return;
    }
  } catch (error) {
    run.signal.throwIfAborted();
    if (isInCallback || cursor === undefined || !(error instanceof MillraceError)) throw error;
    const missing = results.missing(position);
    throw new IncompleteError(
      `The ${query.source} stopped after ${position.pages} ${position.pages === 1 ? 'page' : 'pages'}; missing: ${missing}. ${error.message}. To continue, pass the cursor of this error as \`resume\``,
      {
        cause: error,
        retryable: error.retryable,
        missing: [missing],
        cursor,
        reason: error instanceof IncompleteError ? error.reason : undefined,
      },
    );
  }
}

/**
 * Returns the requests for the minutes of a window that the service still has, and reports the others as a
 * gap.
 */
async function requestsLeft(
  query: Query,
  requests: readonly Params[],
  { position, resume: cursor }: Start,
  signal: AbortSignal,
): Promise<readonly Params[]> {
  const { left, gap } = withoutExpired(query, requests, position);
  if (gap === undefined) return position.oldest === undefined ? requests : left;
  await reportGap(query, gap, `This ${query.source} has not fetched its window in time`, {
    cursor,
    signal,
  });
  return left;
}

function fractionOf<T>(
  query: Query,
  position: QueryPosition,
  results: Results<T>,
): number | undefined {
  if (isOver(query, position)) return 1;
  const { fromDate, toDate } = position.window;
  const isKnown = fromDate !== undefined && toDate !== undefined;
  const covered = isKnown ? results.fractionOf(windowOf({ fromDate, toDate }), position) : 0;
  const fraction = Math.max(covered, position.items / query.limit, position.pages / query.pages);
  return fraction > 0 ? Math.min(1, fraction) : undefined;
}

/**
 * The maximum number of slices to fetch concurrently. At usual latencies, this number uses up the limit of 20
 * requests per second.
 */
const MAX_OPEN_SLICES = 12;
/** The maximum number of pages that a slice buffers while earlier slices are consumed. */
const PAGES_AHEAD = 4;

/**
 * Yields the pages of all slices in order. Pages of later slices are requested before they are needed.
 *
 * @param requests The request for each slice, newest slice first. A query without slices has a single request.
 */
async function* slicePages<T>(
  query: Query,
  { requests, isSliced }: { readonly requests: readonly Params[]; readonly isSliced: boolean },
  start: QueryPosition,
  { parse }: Results<T>,
  signal: AbortSignal,
): AsyncGenerator<Page<T>, void, undefined> {
  // Each open slice adds a listener to the signal. Without this call, Node would warn of a memory leak.
  setMaxListeners(0, signal);
  let items = start.items - start.skip;
  let pages = start.pages;
  const needsNext = (page: Page<T>): boolean => {
    items += page.items.length;
    pages++;
    return items < query.limit && pages < query.pages;
  };
  const open = (index: number) => {
    const from = {
      params: requests[index] as Params,
      next: index === start.slice ? start.next : undefined,
      window: isSliced ? {} : start.window,
    };
    const input = pagesOf(query, from, parse, signal, isSliced ? () => true : needsNext);
    return readAhead(input, isSliced ? PAGES_AHEAD : 1);
  };
  const opened: AsyncGenerator<Page<T>, void, undefined>[] = [];
  for (let index = start.slice; index < requests.length; index++) {
    while (opened.length < Math.min(MAX_OPEN_SLICES, requests.length - index))
      opened.push(open(index + opened.length));
    yield* opened[0]!;
    opened.shift();
  }
}

/** How many tokens to remember for detecting a repeated token. */
const MAX_TOKENS = 1_000;

/**
 * Yields the pages of one request. The request for each page has the `next` token of the previous page; all
 * other parameters are the same. A page without `next` is the last page.
 *
 * @param from `params` are the parameters without `next`. `next` is the token to start with. `window` has the
 *   dates from earlier responses.
 * @param needsNext Returns whether to request the page after the given page.
 * @throws DataError If a response belongs to another request, or if a token is repeated, because the pages
 *   would then never end.
 */
async function* pagesOf<T>(
  query: Query,
  from: { readonly params: Params } & Pick<QueryPosition, 'next' | 'window'>,
  parse: ParseElement<T>,
  signal: AbortSignal,
  needsNext: (page: Page<T>) => boolean,
): AsyncGenerator<Page<T>, void, undefined> {
  const origin = query.url.href;
  let { window: fixed, next: token } = from;
  const tokens = new Set(token === undefined ? [] : [token]);
  while (true) {
    const sent = token === undefined ? from.params : { ...from.params, next: token };
    const page = await fetchPage(query, sent, parse, signal);
    query.spending?.received(page.items.length + page.damaged.length);
    fixed = fixWindow(fixed, page.window, origin);
    token = page.next;
    if (token !== undefined && tokens.has(token))
      throw new DataError(`The service repeats the \`next\` token ${token}: the pages go round`, {
        position: { origin },
      });
    yield { ...page, window: fixed };
    if (token === undefined || !needsNext(page)) return;
    tokens.add(token);
    for (const oldest of tokens) if (tokens.size > MAX_TOKENS) tokens.delete(oldest);
  }
}

/** Returns the dates for all pages. The first page fixes them. Throws if a later page has other dates. */
function fixWindow(fixed: Partial<Dates>, echoed: Partial<Dates>, origin: string): Partial<Dates> {
  for (const name of ['fromDate', 'toDate'] as const)
    if (fixed[name] !== undefined && echoed[name] !== undefined)
      mustEqual(name, echoed[name], fixed[name], origin);
  return { ...echoed, ...fixed };
}

export async function requestsOf(
  query: Query,
  window: Partial<Dates>,
  signal: AbortSignal,
): Promise<readonly Params[]> {
  const { account, params, product, slices } = query;
  if (slices === 1) return [params];
  // A resumed run must divide the same window as the first run, even though the current time has changed.
  const given = { ...params, ...window } as Params;
  const isGiven = given.fromDate !== undefined && given.toDate !== undefined;
  // If a date is not given, this reads the window from a response of the service, because the service's clock
  // may differ.
  const smallest = { ...params, maxResults: MIN_RESULTS };
  const ignore = () => undefined;
  const echoed = isGiven ? {} : (await fetchPage(query, smallest, ignore, signal)).window;
  const dates = resolveDates(given, echoed, product, account.clock.now());
  return sliceDates(dates, slices).map(slice => ({ ...params, ...slice }));
}

export function wholeWindow(slices: readonly Params[]): Partial<Dates> {
  return { fromDate: String(slices.at(-1)?.fromDate), toDate: String(slices[0]?.toDate) };
}

/**
 * Returns both dates of a request that may omit dates. Uses the dates in the response if there are any.
 * Otherwise, uses the service's defaults: the last 30 days, but not before the start of the product.
 */
export function resolveDates(
  given: Params,
  echoed: Partial<Dates>,
  product: Product,
  now: number,
): Dates {
  const to = dateOf(given.toDate ?? echoed.toDate) ?? floorTo(MINUTE, now);
  const back = to - 30 * DAY;
  const earliest = product === '30day' ? floorTo(MINUTE, now - SPAN_30DAY) : FIRST_POST;
  const from = dateOf(echoed.fromDate) ?? Math.max(back, earliest);
  // The earliest date that `30day` accepts moves forward every minute. With this margin, `fromDate` is still
  // accepted when the oldest slice of the window is requested, which is the last request.
  const margin = product === '30day' && from > back ? MINUTE : 0;
  return {
    fromDate: String(given.fromDate ?? formatTimestamp(Math.min(from + margin, to - MINUTE))),
    toDate: formatTimestamp(to),
  };
}

function dateOf(date: Params[string] | undefined): number | undefined {
  return date === undefined ? undefined : parseTimestamp(String(date));
}

/**
 * Splits a window into `count` windows of about the same length, newest first. Each has whole minutes. If the
 * window has fewer than `count` minutes, there are fewer windows. They do not overlap and leave no gaps,
 * because each start is inclusive and each end is exclusive.
 */
export function sliceDates(dates: Dates, count: number): Dates[] {
  const window = windowOf(dates);
  const of = Math.max(1, Math.min(count, Math.round((window.to - window.from) / MINUTE)));
  const parts = Array.from({ length: of }, (_, i) => partOf(window, { index: of - i, of }));
  return parts.filter(part => part !== undefined).map(datesOf);
}
