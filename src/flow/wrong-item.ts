import { isStrayPromise } from '../base/abortable.js';
import { DataError } from '../base/errors.js';
import { bufferOf } from '../json/byte-codes.js';
import { Activity } from '../post/activity.js';
import { isComplianceEvent } from '../post/compliance-event.js';
import { withInternals } from './internals.js';

export type Reads = 'activities' | 'posts' | 'records' | 'lines' | 'bytes' | keyof typeof ADVICE;

export interface Needed {
  /** The start of the message, such as "dedupe() reads activities". */
  readonly need: string;
  readonly reads: Reads;
  /** A second solution, added at the end of the error's advice, such as "pass `line`". */
  readonly or?: string | undefined;
  readonly origin?: string | undefined;
}

/**
 * Creates the error for an item that a stage cannot read. The message names the item and the operator that
 * has to come before the stage.
 */
export function wrongItem(item: unknown, { need, reads, or, origin }: Needed): DataError {
  const columns = reads === 'posts' ? columnsFor(item) : undefined;
  const advice = columns ?? adviceFor(item, reads);
  return aboutStages(
    new DataError(`${need}, but got ${itemName(item)}`, {
      position: { origin },
      advice: or === undefined || columns !== undefined ? advice : `${advice}, or ${or}`,
    }),
  );
}

/** Marks an error as being about the combination of stages; see `isAboutStages`. */
export function aboutStages(error: DataError): DataError {
  return withInternals(error, { isAboutStages: true });
}

/** @throws DataError for the first item that is not an activity */
export function checkActivities(
  call: string,
  { items, origin }: { readonly items: readonly unknown[]; readonly origin?: string | undefined },
  or?: string,
): void {
  for (const item of items)
    if (!(item instanceof Activity))
      throw wrongItem(item, {
        need: `${call}() reads activities`,
        reads: 'activities',
        or,
        origin,
      });
}

/** Names the kind of a value for messages. Does not show the value itself, which may be secret. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return 'a string';
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Activity) return 'an activity';
  return isStrayPromise(value) ? 'a promise' : 'an object';
}

/**
 * Like `kindOf`, but with more details about objects, so that the reader of the error finds the stage that
 * created the object.
 */
function itemName(item: unknown): string {
  if (Array.isArray(item) && item[0] instanceof Activity) return 'an array of activities';
  if (kindOf(item) !== 'an object') return kindOf(item);
  const carrier = carrierOf(item);
  if (carrier !== undefined) return CARRIERS[carrier];
  if (isComplianceEvent(item)) return 'a compliance event';
  const { id, timePeriod } = item as { readonly id?: unknown; readonly timePeriod?: unknown };
  if (typeof timePeriod === 'string') return 'a bucket of counts';
  return id === undefined ? 'an object without an id' : 'an object';
}

const CARRIERS = {
  routeByTag: 'an activity with a tag',
  engagement: 'an activity with totals',
  map: 'an object with an activity',
} as const;

function carrierOf(item: unknown): keyof typeof CARRIERS | undefined {
  const { activity, tag, errors } = item as Readonly<Record<string, unknown>>;
  if (!(activity instanceof Activity)) return undefined;
  if (typeof tag === 'string') return 'routeByTag';
  return Array.isArray(errors) ? 'engagement' : 'map';
}

function columnsFor(item: unknown): string | undefined {
  const name = itemName(item);
  if (name === 'a bucket of counts') return 'Pass `columns: tables.counts`';
  return name === 'a compliance event' ? 'Pass `columns: tables.complianceEvents`' : undefined;
}

function adviceFor(item: unknown, reads: Reads): string {
  const kind = kindOf(item);
  if (kind === 'a promise') return 'Put mapAsync() in the place of the map() that makes promises';
  switch (reads) {
    case 'bytes':
      return kind === 'a string'
        ? 'A stream with an encoding gives text: do not set an encoding'
        : 'It takes the bytes of files or lines: put it before the stages that parse them, or leave it out';
    case 'records':
      return 'Put jsonLines() before it, which cuts bytes into records';
    case 'lines':
      return 'Put it before chunk()';
    case 'activities':
    case 'posts':
      return `Put ${operatorsFor(item, kind)}`;
    default:
      return ADVICE[reads];
  }
}

const ADVICE = {
  'compliance events':
    'Read them from compliance(), or put map(parseComplianceEvent) before it, on bytes',
  'buckets of counts': 'Read them from counts()',
  'usage rows': 'Read them from usage.rows()',
  'engagement totals': 'Put engagement() before it',
} as const;

function operatorsFor(item: unknown, kind: string): string {
  if (kind === 'a string')
    return 'jsonLines(), activities() before it, and read bytes instead of text';
  if (item instanceof Uint8Array) return `${decodersOf(item)} before it`;
  if (kind === 'an array') return 'it before chunk(), or before what else makes arrays';
  const carrier = kind === 'an object' ? carrierOf(item) : undefined;
  if (carrier === 'map') return 'map(({ activity }) => activity) before it';
  if (carrier !== undefined)
    return `${carrier}() after all stages that read activities, or map(({ activity }) => activity) before this one`;
  return columnsFor(item) === undefined
    ? 'activities() before it, which parses them from bytes'
    : 'it into a pipeline of posts, such as those of search()';
}

/**
 * Returns calls of the operators that decode the bytes. Detects from the content whether the bytes are a gzip
 * file, lines, or one record.
 */
function decodersOf(bytes: Uint8Array): string {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gunzip(), jsonLines(), activities()';
  const text = Buffer.from(bytes).toString('latin1').trim();
  const isRecord = text.startsWith('{') && text.endsWith('}') && !/\}\s*\n\s*\{/.test(text);
  return isRecord ? 'activities()' : 'jsonLines(), activities()';
}

/**
 * Returns an item of a flow of bytes as a `Buffer`, which is a view of the same memory.
 *
 * @throws DataError for any other item. The compiler cannot detect all of these: a Node stream with an
 *   encoding delivers strings.
 */
export function bytesOf(call: string, item: Uint8Array, origin: string | undefined): Buffer {
  if (item instanceof Uint8Array) return bufferOf(item);
  throw wrongItem(item, { need: `${call}() reads bytes`, reads: 'bytes', origin });
}
