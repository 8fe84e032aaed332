import { isStrayPromise } from '../base/abortable.js';
import { DataError } from '../base/errors.js';
import { scanObject } from '../json/check-object.js';
import { excerpt } from '../json/excerpt.js';
import type { FileBytes, JsonRecord } from '../json/records.js';
import { Activity, type Routed } from '../post/activity.js';
import { isComplianceEvent } from '../post/compliance-event.js';
import { kindOf, wrongItem } from './wrong-item.js';

export const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;

/** The bytes of a line, without its line end. */
export type Line = Uint8Array;

/**
 * Converts an item to a line. The line is a string, or bytes that are written unchanged, and does not end
 * with a line feed.
 */
export type ToLine<T> = (item: T) => string | Uint8Array;

/**
 * `T` if a sink of lines accepts it. A sink does not accept a block of a file or a promise. For these two,
 * this is the type to pass instead: a record, or the value of the promise.
 */
export type LineItem<T> = T extends FileBytes
  ? JsonRecord
  : T extends PromiseLike<infer Item>
    ? Item
    : T;

/**
 * Returns the line for an item. If `toLine` is given, it creates the line. Otherwise, an item that is a JSON
 * document in bytes, such as an activity or an event, is copied. Only line breaks between its tokens are
 * replaced with spaces. Any other item is serialized as JSON.
 *
 * @throws DataError if `toLine` returns neither a string nor bytes, if JSON cannot represent the item, such
 * as a bigint, or if bytes have several lines and are not one JSON value.
 */
export function lineOf<T>(item: T, toLine: ToLine<T> | undefined, origin?: string): Line {
  if (toLine !== undefined) {
    const line: unknown = toLine(item);
    if (typeof line === 'string') return Buffer.from(line);
    if (line instanceof Uint8Array) return line;
    throw new DataError(
      `The option \`line\` must return text or bytes, but returned ${kindOf(line)}`,
    );
  }
  if (item instanceof Activity) return inOneLine(item.raw, origin);
  if (item instanceof Uint8Array) return inOneLine(item, origin);
  if (isTagged(item)) return inOneLine(item.activity.raw, origin);
  if (isComplianceEvent(item)) return inOneLine(item.raw, origin);
  if (isStrayPromise(item) || (Array.isArray(item) && item[0] instanceof Activity))
    throw wrongItem(item, { ...LINES, origin });
  return Buffer.from(json(item, origin));
}

const LINES = {
  need: 'A sink of lines writes posts, bytes and JSON values',
  reads: 'lines',
  or: 'pass `line`',
} as const;

/**
 * Replaces each line feed between the tokens of pretty-printed JSON with a space. The result is one line with
 * the same length. JSON strings contain no raw line feeds, so a line feed anywhere else means that the bytes
 * are not one JSON value.
 */
function inOneLine(json: Uint8Array, origin: string | undefined): Uint8Array {
  if (json.indexOf(LINE_FEED) === -1) return json;
  const member = Buffer.concat([Buffer.from('{"":'), json, Buffer.from('}')]);
  if (scanObject(member, 0, Number.POSITIVE_INFINITY).end !== member.length)
    throw new DataError(`Bytes of several lines are not one JSON value: ${excerpt(json)}`, {
      position: { origin },
      advice: 'If each line is a record, put jsonLines() before the sink',
    });
  const spaced = json.map(byte => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte));
  return Buffer.from(spaced.buffer, spaced.byteOffset, spaced.byteLength);
}

export function isTagged(item: unknown): item is Routed {
  return (
    typeof item === 'object' &&
    item !== null &&
    'activity' in item &&
    item.activity instanceof Activity &&
    'tag' in item &&
    typeof item.tag === 'string'
  );
}

function json(item: unknown, origin: string | undefined): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    if (typeof item !== 'number' || Number.isFinite(item)) text = JSON.stringify(item);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined) return text;
  const why = cause instanceof Error ? ` (${cause.message.split('\n', 1)[0]})` : '';
  throw new DataError(
    `Cannot write ${kindOf(item)} as a line: it has no JSON${why}. Map it, or pass \`line\``,
    { position: { origin }, cause },
  );
}
