import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import type { Json } from '../json/json.js';
import { parseTimestamp } from '../time.js';
import type { EchoedWindow } from './page.js';
import type { Query } from './query.js';

/** Where a search or count stands: what a cursor holds. */
export interface Position {
  /** The slice under way, 0 being the newest; always 0 where there is but one. */
  readonly slice: number;
  /** The token of the page to come; absent at the beginning of a slice. */
  readonly next: string | undefined;
  /** Items of that page that were delivered already, where a limit cut it. */
  readonly skip: number;
  /** Delivered so far, over all runs. */
  readonly items: number;
  readonly pages: number;
  /** Nothing is left. */
  readonly done: boolean;
  /** The dates of the whole request, as the first answer or the slicing fixed them. */
  readonly window: EchoedWindow;
}

export function startOf({ next }: Query): Position {
  return { slice: 0, next, skip: 0, items: 0, pages: 0, done: false, window: {} };
}

/** The position as JSON, with the request that it belongs to. */
export function cursorOf({ source, identity }: Query, position: Position): Cursor {
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
 * @throws OptionError when the cursor is of another request: its pages would not be this one's.
 */
export function positionOf(query: Query, cursor: Cursor): Position {
  const { source, request, window, slice, next, skip, items, pages, done } = cursor as Readonly<
    Record<string, Json>
  >;
  if (source !== query.source || !isObject(request))
    throw new OptionError('resume', `The cursor is not one of ${query.source}`);
  const names = new Set([...Object.keys(request), ...Object.keys(query.identity)]);
  for (const name of names)
    if (request[name] !== query.identity[name])
      throw new OptionError(
        'resume',
        `The cursor belongs to another request: its ${name} was ${show(request[name])}, and now it is ${show(query.identity[name])}. Use the same options, or start afresh without the cursor`,
      );
  const places = [slice, skip, items, pages];
  const dates = isObject(window) ? [window.fromDate, window.toDate] : [0];
  const { slices = 1 } = query.identity;
  if (
    !places.every(isCount) ||
    Number(slice) >= Number(slices) ||
    !dates.every(isDateOrNone) ||
    !isTextOrNone(next) ||
    typeof done !== 'boolean'
  )
    throw new OptionError('resume', 'The cursor is damaged');
  return { slice, next, skip, items, pages, done, window } as unknown as Position;
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: Json | undefined): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
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
