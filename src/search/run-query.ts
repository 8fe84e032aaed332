import { cursorError } from '../check.js';
import { IncompleteError, MillraceError } from '../errors.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { parseTimestamp, type Window } from '../time.js';
import type { Page } from './fetch-page.js';
import type { Query } from './query.js';
import {
  advance,
  cursorOf,
  isOver,
  positionOf,
  type QueryPosition,
  startOf,
} from './query-cursor.js';
import { slicePages } from './slice-pages.js';
import { requestsOf, windowOf } from './slices.js';

/** The parts of a query that differ between posts and counts. One object for each run. */
export interface Results<T> {
  /** One element of `results`. Throws a `DataError` for a damaged one. */
  parse(bytes: Buffer, url: string): T;
  /** Called with each damaged element of a page; without it, the first one ends the run. */
  readonly onDamaged?: OnDamaged | undefined;
  /** Checks the pages in order. Throws if one contradicts itself or an earlier one. */
  receive?(page: Page<T>): void;
  /** The time of an item, in epoch milliseconds; `undefined` for one without. */
  timeOf(item: T): number | undefined;
  /** The part of a window that was received, 0 to 1. */
  fractionOf(window: Window, position: QueryPosition): number;
  /** Describes what is still missing, for an error. */
  missing(position: QueryPosition): string;
}

/**
 * Runs a query: its pages, one batch each, with the cursor after it. While a page is consumed, the next
 * one is requested.
 *
 * @param makeResults Receives whether the run starts at the first page.
 */
export async function* runQuery<T>(
  checked: Query,
  makeResults: (isWhole: boolean) => Results<T>,
  run: Run,
): Batches<T> {
  const query = { ...checked, account: checked.account.withWaits(run.progress?.onWait) };
  const resume = run.resume ?? query.resume;
  let position = resume === undefined ? startOf(query) : positionOf(query, resume);
  let cursor: Cursor | undefined = resume;
  if (isOver(query, position)) return;
  const results = makeResults(position.pages === 0 && position.next === undefined);
  const requests = await requestsOf(query, position.window, run.signal);
  if (position.slice >= requests.length) throw cursorError('is damaged');
  let isInCallback = false;
  try {
    if (requests.length > 1) position = { ...position, window: windowOf(requests) };
    const parse = results.parse.bind(results);
    for await (const page of slicePages(query, requests, position, parse, run.signal)) {
      for (const { record, error } of page.damaged) {
        if (results.onDamaged === undefined) throw error;
        isInCallback = true;
        await results.onDamaged(record, error);
        isInCallback = false;
      }
      results.receive?.(page);
      const rest = query.limit - position.items;
      const items = page.items.slice(position.skip, position.skip + rest);
      const last = items.at(-1);
      const reached = last === undefined ? undefined : results.timeOf(last);
      position = advance(position, page, items.length, reached, requests.length);
      cursor = cursorOf(query, position);
      report(run, query, position, results, page, items.length);
      yield { items, cursor, origin: query.url.href };
      if (isOver(query, position)) return;
    }
  } catch (error) {
    run.signal.throwIfAborted();
    // What the user's function throws comes through as it is.
    if (isInCallback || cursor === undefined || !(error instanceof MillraceError)) throw error;
    const missing = results.missing(position);
    throw new IncompleteError(
      `The ${query.source} stopped after ${position.pages} pages; missing: ${missing}. ${error.message}. To go on, pass the cursor of this error as \`resume\``,
      { cause: error, retryable: error.retryable, missing: [missing], cursor },
    );
  }
}

function report<T>(
  { progress }: Run,
  query: Query,
  position: QueryPosition,
  results: Results<T>,
  page: Page<T>,
  received: number,
): void {
  if (progress === undefined) return;
  progress.received += received;
  progress.receivedBytes += page.receivedBytes;
  progress.reached = position.reached;
  progress.fraction = fractionOf(query, position, results) ?? progress.fraction;
}

function fractionOf<T>(
  query: Query,
  position: QueryPosition,
  results: Results<T>,
): number | undefined {
  if (isOver(query, position)) return 1;
  const { fromDate = '', toDate = '' } = position.window;
  const from = parseTimestamp(fromDate);
  const to = parseTimestamp(toDate);
  const isKnown = from !== undefined && to !== undefined;
  const covered = isKnown ? results.fractionOf({ from, to }, position) : 0;
  const fraction = Math.max(covered, position.items / query.limit, position.pages / query.pages);
  return fraction > 0 ? Math.min(1, fraction) : undefined;
}
