import { setMaxListeners } from 'node:events';
import { ReadAhead } from '../flow/read-ahead.js';
import type { Page, ParseElement } from './fetch-page.js';
import { pagesOf } from './pages.js';
import type { Params, Query } from './query.js';
import type { QueryPosition } from './query-cursor.js';

/** The number of slices requested at a time, which at usual latencies uses up 20 requests a second. */
const MAX_OPEN_SLICES = 12;
/** The maximum number of pages that a slice buffers until its turn. */
const PAGES_AHEAD = 4;

/**
 * The pages of all slices in order, while pages of later slices are already requested.
 *
 * @param requests One for each slice, newest first; a single one if the query has no slices.
 */
export async function* slicePages<T>(
  query: Query,
  requests: readonly Params[],
  start: QueryPosition,
  parse: ParseElement<T>,
  signal: AbortSignal,
): AsyncGenerator<Page<T>, void, undefined> {
  const isSliced = requests.length > 1;
  // Every open slice listens to it.
  setMaxListeners(0, signal);
  let items = start.items - start.skip;
  let pages = start.pages;
  const needsNext = (page: Page<T>): boolean => {
    items += page.items.length;
    pages++;
    return items < query.limit && pages < query.pages;
  };
  const open = (index: number): ReadAhead<Page<T>> => {
    const input = pagesOf(query, {
      params: requests[index] as Params,
      next: index === start.slice ? start.next : undefined,
      window: isSliced ? {} : start.window,
      parse,
      signal,
      needsNext: isSliced ? () => true : needsNext,
    });
    return new ReadAhead(input, isSliced ? PAGES_AHEAD : 1);
  };
  const opened: ReadAhead<Page<T>>[] = [];
  for (let index = start.slice; index < requests.length; index++) {
    while (opened.length < Math.min(MAX_OPEN_SLICES, requests.length - index)) {
      const slice = open(index + opened.length);
      slice.fill();
      opened.push(slice);
    }
    yield* opened[0]!.read();
    opened.shift();
  }
}
