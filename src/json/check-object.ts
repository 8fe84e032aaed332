import { DataError, type DataPosition } from '../base/errors.js';
import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isClosing,
  isOpening,
  isScalar,
  isSpace,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './byte-codes.js';
import { excerpt } from './excerpt.js';
import { isProvenObject } from './object-lines.js';

/** Whether the bytes are exactly one JSON object, without white space around it. */
export function isOneObject(json: Buffer, maxDepth: number): boolean {
  return isProvenObject(json, maxDepth) || scanObject(json, 0, maxDepth).end === json.length;
}

/**
 * Tells whether bytes are one JSON object (`one`), one object followed by more bytes (`more`), or anything
 * else (`other`). White space around the object is allowed.
 */
export function extentOfObject(json: Buffer): 'one' | 'more' | 'other' {
  const noLimit = Number.POSITIVE_INFINITY;
  if (isOneObject(json, noLimit)) return 'one';
  let start = 0;
  while (isSpace(json[start]!)) start++;
  let { end } = scanObject(json, start, noLimit);
  if (end === undefined) return 'other';
  while (isSpace(json[end]!)) end++;
  return end === json.length ? 'one' : 'more';
}

/**
 * Checks that bytes are exactly one JSON object, without white space around it.
 *
 * @param what A name for the bytes in the message, such as "A result".
 * @throws DataError
 */
export function checkObject(
  json: Buffer,
  maxDepth: number,
  what: string,
  position: DataPosition = {},
): void {
  if (isOneObject(json, maxDepth)) return;
  const { end = 0, wrongAt = end, isTooDeep = false } = scanObject(json, 0, maxDepth);
  if (isTooDeep) throw new DataError(`${what} is nested deeper than ${maxDepth}`, { position });
  throw new DataError(`${what} is not one JSON object: ${excerpt(json)}`, {
    position,
    advice: `It is not valid JSON from byte ${wrongAt} on`,
  });
}

export interface ScannedObject {
  /** The position after the object. Absent if the object is invalid. */
  readonly end?: number;
  /** The position of the first invalid byte. Absent if the object is valid. */
  readonly wrongAt?: number;
  readonly isTooDeep?: boolean;
}

type Expected = 'key' | 'first key' | 'value' | 'first value' | 'end of value';

/**
 * Reads one JSON object, starting at its opening bracket. Accepts exactly what `JSON.parse` accepts, but
 * creates no values. `ObjectLines` does the same for many records at once, and leaves unusual records to this
 * function.
 */
export function scanObject(bytes: Uint8Array, start: number, maxDepth: number): ScannedObject {
  /** The closing brackets that are expected, with the innermost last. */
  const closers: number[] = [];
  let expected: Expected = 'value';
  if (bytes[start] !== OPEN_OBJECT) return { wrongAt: start };
  for (let at = start; ; ) {
    while (at > start && isSpace(bytes[at]!)) at++;
    const byte = bytes[at]!;
    const closer = closers.at(-1);
    if (byte === closer && expected !== 'key' && expected !== 'value') {
      closers.pop();
      at++;
      if (closers.length === 0) return { end: at };
      expected = 'end of value';
    } else if (expected === 'end of value') {
      if (byte !== COMMA) return { wrongAt: at };
      expected = closer === CLOSE_OBJECT ? 'key' : 'value';
      at++;
    } else if (expected === 'key' || expected === 'first key') {
      const end = byte === QUOTE ? afterString(bytes, at) : -1;
      if (end === -1) return { wrongAt: at };
      at = end;
      while (isSpace(bytes[at]!)) at++;
      if (bytes[at] !== COLON) return { wrongAt: at };
      expected = 'value';
      at++;
    } else if (isOpening(byte) && !isClosing(byte)) {
      if (closers.length >= maxDepth) return { wrongAt: at, isTooDeep: true };
      closers.push(byte + 2); // The code of each closing bracket is the code of its opening bracket plus 2.
      expected = byte === OPEN_OBJECT ? 'first key' : 'first value';
      at++;
    } else {
      const end = byte === QUOTE ? afterString(bytes, at) : afterScalar(bytes, at);
      if (end === -1) return { wrongAt: at };
      expected = 'end of value';
      at = end;
    }
  }
}

const ESCAPES = new Set([...Buffer.from('"\\/bfnrt')]);

/** Returns the position after a string, or -1 if the string is invalid. */
function afterString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte < SPACE) return -1;
    if (byte !== BACKSLASH) continue;
    at++;
    if (ESCAPES.has(bytes[at]!)) continue;
    if (bytes[at] !== 0x75 || !isHex(bytes, at + 1)) return -1;
    at += 4;
  }
  return -1;
}

function isHex(bytes: Uint8Array, start: number): boolean {
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at]! | 0x20;
    if (!((byte >= 0x30 && byte <= 0x39 && bytes[at]! >= 0x30) || (byte >= 0x61 && byte <= 0x66)))
      return false;
  }
  return true;
}

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Returns the position after a number or a word, or -1 if it is invalid. */
function afterScalar(bytes: Uint8Array, start: number): number {
  let end = start;
  while (end < bytes.length && isScalar(bytes[end]!)) end++;
  return SCALAR.test(Buffer.from(bytes.subarray(start, end)).toString('latin1')) ? end : -1;
}
