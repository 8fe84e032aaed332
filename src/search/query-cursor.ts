import { cursorError } from '../check.js';
import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { isRecord } from '../is-record.js';
import type { Json } from '../json/json.js';
import { isCount } from '../json/json-checks.js';
import { parseTimestamp } from '../time.js';
import type { EchoedWindow, Page } from './fetch-page.js';
import type { Query } from './query.js';

/** The progress of a search or count, which a cursor stores. */
export interface QueryPosition {
  /** The current slice; 0 is the newest, and the only one of a query without slices. */
  readonly slice: number;
  /** The token of the next page; absent at the start of a slice. */
  readonly next: string | undefined;
  /** The number of items of that page that were delivered already, if a limit cut it. */
  readonly skip: number;
  /** The number of items delivered so far, over all runs. */
  readonly items: number;
  readonly pages: number;
  /** Whether every page was delivered. */
  readonly done: boolean;
  /** The dates of the whole request, as the first page or the slicing fixed them. */
  readonly window: EchoedWindow;
}

export function startOf({ next }: Query): QueryPosition {
  return { slice: 0, next, skip: 0, items: 0, pages: 0, done: false, window: {} };
}

/** Whether everything was delivered. */
export function isOver({ limit, pages }: Query, position: QueryPosition): boolean {
  return position.done || position.items >= limit || position.pages >= pages;
}

/** The position after a page, of which `delivered` items were delivered. */
export function advance<T>(
  position: QueryPosition,
  page: Page<T>,
  delivered: number,
  slices: number,
): QueryPosition {
  const window = slices > 1 ? position.window : page.window;
  const items = position.items + delivered;
  const skip = position.skip + delivered;
  // Cut by a limit: a run with a higher limit requests the same page again and skips its first items.
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

/** The position as a cursor, with the request that it belongs to. */
export function cursorOf({ source, identity }: Query, position: QueryPosition): Cursor {
  const { slice, next, skip, items, pages, done, window } = position;
  return {
    source,
    request: identity,
    window: { ...window } as Json,
    slice,
    ...(next === undefined ? {} : { next }),
    skip,
    items,
    pages,
    done,
  };
}

/**
 * The position that a cursor stores.
 *
 * @throws OptionError If it is damaged or belongs to another request.
 */
export function positionOf(query: Query, cursor: Cursor): QueryPosition {
  const { source, request, window, slice, next, skip, items, pages, done } = cursor as Readonly<
    Record<string, Json>
  >;
  if (source !== query.source || !isRecord(request))
    throw cursorError(`is not one of ${query.source}()`);
  const names = new Set([...Object.keys(request), ...Object.keys(query.identity)]);
  for (const name of names)
    if (request[name] !== query.identity[name])
      throw new OptionError(
        'resume',
        `The cursor belongs to another request: its ${name} was ${show(request[name])}, and now it is ${show(query.identity[name])}. Use the same options, or start afresh without the cursor`,
      );
  const numbers = [slice, skip, items, pages];
  const dates = isRecord(window) ? [window.fromDate, window.toDate] : [0];
  const { slices = 1 } = query.identity;
  if (
    !numbers.every(isCount) ||
    Number(slice) >= Number(slices) ||
    !dates.every(isDateOrNone) ||
    !isTextOrNone(next) ||
    typeof done !== 'boolean'
  )
    throw cursorError('is damaged');
  return { slice, next, skip, items, pages, done, window } as unknown as QueryPosition;
}

function isDateOrNone(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'string' && parseTimestamp(value) !== undefined);
}

function isTextOrNone(value: Json | undefined): boolean {
  return value === undefined || typeof value === 'string';
}

function show(value: Json | undefined): string {
  return value === undefined ? 'not given' : JSON.stringify(value);
}
