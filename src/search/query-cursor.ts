import { cursorError } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { type Dates, parseTimestamp } from '../base/time.js';
import type { Cursor } from '../flow/flow.js';
import { changedOption, shown } from '../flow/flow-identity.js';
import { isCount, isFlag, isText, type Json, optional, shaped } from '../json/type-guards.js';
import type { Page } from './fetch-page.js';
import type { Query } from './query.js';

export interface QueryPosition {
  /** The index of the current slice. Slice 0 is the newest. A query without slices has only slice 0. */
  readonly slice: number;
  /** The token of the next page; absent at the start of a slice. */
  readonly next: string | undefined;
  /**
   * How many items of the next page were already delivered. It is 0 unless a limit ended an earlier run in
   * the middle of that page.
   */
  readonly skip: number;
  /** The total number of items that all runs have delivered so far. */
  readonly items: number;
  readonly pages: number;
  readonly done: boolean;
  /** The time of the last delivered item, in epoch milliseconds. */
  readonly reached: number | undefined;
  /**
   * The dates of the whole request. They come from the response to the first page. If the option `slices`
   * divides the window, they are set before the first request.
   */
  readonly window: Partial<Dates>;
  /**
   * The start of the current slice, if the slice was shortened because `30day` no longer had its oldest
   * minutes.
   */
  readonly oldest?: string | undefined;
}

const START = {
  slice: 0,
  skip: 0,
  items: 0,
  pages: 0,
  done: false,
  reached: undefined,
  window: {},
};

export function startOf({ next }: Query): QueryPosition {
  return { ...START, next };
}

export function isOver({ limit, pages }: Query, position: QueryPosition): boolean {
  return position.done || position.items >= limit || position.pages >= pages;
}

/**
 * Returns the position after `delivered` items of a page were delivered.
 *
 * @param reached The time of the last delivered item, if any item was delivered.
 * @param slices The number of slices to fetch. It is smaller than the number of slices of the window if the
 *   oldest slices have expired.
 */
export function advance<T>(
  before: QueryPosition,
  page: Page<T>,
  delivered: number,
  reached: number | undefined,
  { slices, isSliced }: { readonly slices: number; readonly isSliced: boolean },
): QueryPosition {
  const position = { ...before, reached: reached ?? before.reached };
  const window = isSliced ? position.window : page.window;
  const items = position.items + delivered;
  const skip = position.skip + delivered;
  // A limit has cut the page. A later run with a higher limit requests the page again, and skips the items
  // that were already delivered.
  if (skip < page.items.length) return { ...position, window, items, skip };
  const slice = page.next === undefined ? position.slice + 1 : position.slice;
  return {
    ...position,
    slice: Math.min(slice, slices - 1),
    next: page.next,
    skip: 0,
    items,
    pages: position.pages + 1,
    done: slice === slices,
    window,
  };
}

export function cursorOf({ source, identity }: Query, position: QueryPosition): Cursor {
  const { next, reached, window, oldest, ...counts } = position;
  return {
    source,
    request: identity,
    window: { ...window },
    ...counts,
    ...(next !== undefined && { next }),
    ...(reached !== undefined && { reached: new Date(reached).toISOString() }),
    ...(oldest !== undefined && { oldest }),
  };
}

/**
 * Returns the position that a cursor stores.
 *
 * @throws OptionError If the cursor is damaged or belongs to another request.
 */
export function positionOf(query: Query, cursor: Cursor): QueryPosition {
  const { source, request } = cursor as Readonly<Record<string, Json>>;
  if (source !== query.source || !isRecord(request))
    throw cursorError(`is not one of ${query.source}()`);
  const name = changedOption(request, query.identity);
  if (name !== undefined) {
    const [was, is] = [shown(request[name]), shown(query.identity[name])];
    const advice =
      name === 'maxResults'
        ? `Without \`maxResults\`, it follows from \`limit\`: pass \`maxResults: ${was}\` to continue with another \`limit\``
        : 'Use the same options';
    throw new OptionError(
      'resume',
      `The cursor belongs to another request: its ${name} was ${was}, and now it is ${is}. ${advice}, or start afresh without the cursor`,
    );
  }
  const { slices = 1 } = query.identity;
  if (!isStored(cursor) || cursor.slice >= Number(slices)) throw cursorError('is damaged');
  const { slice, next, skip, items, pages, done, reached, window, oldest } = cursor;
  const at = reached === undefined ? undefined : Date.parse(reached);
  return { slice, next, skip, items, pages, done, reached: at, window, oldest };
}

const isDate = (value: unknown) => isText(value) && parseTimestamp(value) !== undefined;

const isStored = shaped<Omit<QueryPosition, 'reached'> & { readonly reached: string | undefined }>({
  slice: isCount,
  next: optional(isText),
  skip: isCount,
  items: isCount,
  pages: isCount,
  done: isFlag,
  reached: optional(value => isText(value) && !Number.isNaN(Date.parse(value))),
  window: shaped<Partial<Dates>>({ fromDate: optional(isDate), toDate: optional(isDate) }),
  oldest: optional(isDate),
});
