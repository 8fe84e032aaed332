import { setMaxListeners } from 'node:events';
import { IncompleteError, MillraceError, OptionError } from '../errors.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import { ReadAhead } from '../flow/read-ahead.js';
import { parseTimestamp, type Window } from '../time.js';
import { type EchoedWindow, fetchPage, type Page } from './page.js';
import { pagesOf } from './pages.js';
import { MIN_RESULTS, type Params, type Query } from './query.js';
import { cursorOf, type Position, positionOf, startOf } from './query-cursor.js';
import { resolveDates, sliceDates } from './slices.js';

/** What a search or count does beside paging. */
export interface QueryRun<T> {
  readonly query: Query;
  /** Most items and most pages to deliver; `Infinity` for all. */
  readonly limit: number;
  readonly pages: number;
  /** Parts of the window to fetch side by side; 1 for none. */
  readonly slices: number;
  readonly parse: (bytes: Buffer, url: string) => T | undefined;
  /**
   * Makes the check of the pages of one run. It throws when a page contradicts itself or an earlier
   * one. `isWhole` says that the run began at the first page.
   */
  readonly checkPages?: ((isWhole: boolean) => (page: Page<T>) => void) | undefined;
  /** The time that a page has reached, epoch milliseconds. */
  readonly reachedBy: (page: Page<T>) => number | undefined;
  /** How much of a window is done, 0 to 1. */
  readonly fractionOf: (window: Window, position: Position, reached: number) => number;
  /** In words, what is still to come. */
  readonly missing: (position: Position, reached: number | undefined) => string;
}

type Bounds = Pick<QueryRun<unknown>, 'limit' | 'pages'>;

/** Slices under way at once: at the usual latencies this uses up 20 requests a second. */
const SIDE_BY_SIDE = 12;
/** Pages that a slice holds until its turn comes. */
const PAGES_AHEAD = 4;

/**
 * All pages of a search or count, one batch each, with the cursor of the place after it. While a
 * page is consumed, the next one is requested.
 */
export async function* runQuery<T>(job: QueryRun<T>, run: Run): Batches<T> {
  const { query } = job;
  const resume = run.resume ?? query.resume;
  let position = resume === undefined ? startOf(query) : positionOf(query, resume);
  let cursor: Cursor | undefined = resume;
  let reached: number | undefined;
  if (isOver(job, position)) return;
  const check = job.checkPages?.(position.pages === 0 && position.next === undefined);
  const slices = await slicesOf(job, position, run);
  if (position.slice >= slices.length) throw new OptionError('resume', 'The cursor is damaged');
  try {
    if (slices.length > 1) position = { ...position, window: wholeWindow(slices) };
    for await (const page of pagesInTurn(job, slices, position, run)) {
      check?.(page);
      const rest = job.limit - position.items;
      const items = page.items.slice(position.skip, position.skip + rest);
      position = advance(position, page, items.length, slices.length);
      cursor = cursorOf(query, position);
      reached = job.reachedBy(page) ?? reached;
      if (run.progress !== undefined) {
        run.progress.received += items.length;
        run.progress.receivedBytes += page.receivedBytes;
        run.progress.reached = reached;
        run.progress.fraction = fractionOf(job, position, reached) ?? run.progress.fraction;
      }
      yield { items, cursor, origin: query.url.href };
      if (isOver(job, position)) return;
    }
  } catch (error) {
    run.signal.throwIfAborted();
    if (cursor === undefined || !(error instanceof MillraceError)) throw error;
    const missing = job.missing(position, reached);
    throw new IncompleteError(
      `The ${query.source} stopped after ${position.pages} pages; missing: ${missing}. ${error.message}. To go on, pass the cursor of this error as \`resume\``,
      { cause: error, retryable: error.retryable, missing: [missing], cursor },
    );
  }
}

function isOver({ limit, pages }: Bounds, position: Position): boolean {
  return position.done || position.items >= limit || position.pages >= pages;
}

/** The requests to make, newest first: the one as it was asked for, or its slices. */
async function slicesOf<T>(
  job: QueryRun<T>,
  { window }: Position,
  { signal }: Run,
): Promise<readonly Params[]> {
  const { query, slices } = job;
  const { account, params, product } = query;
  if (slices === 1) return [params];
  // A resumed run slices what the first one sliced, whatever the time is now.
  const given = { ...params, ...window } as Params;
  const isGiven = given.fromDate !== undefined && given.toDate !== undefined;
  // How far an open window goes is for the service to say: its clock may differ from ours.
  const few = { ...params, maxResults: MIN_RESULTS };
  const echoed = isGiven ? {} : (await fetchPage(query, few, () => undefined, signal)).window;
  const dates = resolveDates(given, echoed, product, account.clock.now());
  return sliceDates(dates, slices).map(slice => ({ ...params, ...slice }));
}

function wholeWindow(slices: readonly Params[]): EchoedWindow {
  return { fromDate: String(slices.at(-1)?.fromDate), toDate: String(slices[0]?.toDate) };
}

/** The pages of all slices in their order, while those of later slices are already under way. */
async function* pagesInTurn<T>(
  job: QueryRun<T>,
  slices: readonly Params[],
  start: Position,
  { signal }: Run,
): AsyncGenerator<Page<T>, void, undefined> {
  const sliced = slices.length > 1;
  // Each slice under way waits on it.
  setMaxListeners(0, signal);
  let items = start.items - start.skip;
  let pages = start.pages;
  const goOn = (page: Page<T>): boolean => {
    items += page.items.length;
    pages++;
    return items < job.limit && pages < job.pages;
  };
  const open = (index: number): ReadAhead<Page<T>> => {
    const resumed = index === start.slice;
    const input = pagesOf(job.query, {
      params: slices[index] as Params,
      next: resumed ? start.next : undefined,
      window: sliced ? {} : start.window,
      parse: job.parse,
      signal,
      goOn: sliced ? () => true : goOn,
    });
    return new ReadAhead(input, sliced ? PAGES_AHEAD : 1);
  };
  const opened: ReadAhead<Page<T>>[] = [];
  for (let index = start.slice; index < slices.length; index++) {
    while (opened.length < Math.min(SIDE_BY_SIDE, slices.length - index)) {
      const slice = open(index + opened.length);
      slice.fill();
      opened.push(slice);
    }
    yield* opened[0]!.read();
    opened.shift();
  }
}

function advance<T>(
  position: Position,
  page: Page<T>,
  delivered: number,
  slices: number,
): Position {
  const window = slices > 1 ? position.window : page.window;
  const items = position.items + delivered;
  const skip = position.skip + delivered;
  // Cut by a limit: a run with a higher one asks for the same page again and skips its beginning.
  if (skip < page.items.length) return { ...position, window, items, skip };
  const slice = page.next === undefined ? position.slice + 1 : position.slice;
  return {
    slice: Math.min(slice, slices - 1),
    next: page.next,
    skip: 0,
    items,
    pages: position.pages + 1,
    done: slice === slices,
    window,
  };
}

function fractionOf<T>(
  job: QueryRun<T>,
  position: Position,
  reached: number | undefined,
): number | undefined {
  if (isOver(job, position)) return 1;
  const { fromDate = '', toDate = '' } = position.window;
  const from = parseTimestamp(fromDate);
  const to = parseTimestamp(toDate);
  const known = from !== undefined && to !== undefined && reached !== undefined;
  const covered = known ? job.fractionOf({ from, to }, position, reached) : 0;
  const fraction = Math.max(covered, position.items / job.limit, position.pages / job.pages);
  return fraction > 0 ? Math.min(1, fraction) : undefined;
}
