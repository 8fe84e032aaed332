import {
  afterDigits,
  BACKSLASH,
  COLON,
  isDigit,
  isTextAt,
  LF,
  QUOTE,
  SPACE,
} from '../../json/byte-codes.js';

const HALF = 2 ** 32;
const ZERO = 0x30;

/**
 * Parses ids that are 64-bit integers into two halves of 32 bits. An object of this class is reused for many
 * ids, so that parsing creates no objects.
 */
export class IdNumber {
  high = 0;
  low = 0;

  /**
   * Parses an id. Returns whether it is a 64-bit integer without leading zeros. 0 is not accepted, because
   * hash tables use it for free slots.
   */
  parse(id: string): boolean {
    const { length } = id;
    if (length === 0 || length > 20 || id.charCodeAt(0) === ZERO) return false;
    let high = 0;
    let low = 0;
    for (let at = 0; at < length; ) {
      // Six digits at a time are calculated exactly in a double, because 2^32 * 10^6 < 2^53.
      const end = Math.min(at + 6, length);
      let part = 0;
      let scale = 1;
      for (; at < end; at++) {
        const digit = id.charCodeAt(at) - ZERO;
        if (digit < 0 || digit > 9) return false;
        part = part * 10 + digit;
        scale *= 10;
      }
      const value = low * scale + part;
      low = value >>> 0;
      high = high * scale + Math.floor(value / HALF);
      if (high >= HALF) return false;
    }
    this.high = high;
    this.low = low;
    return true;
  }

  /**
   * Parses the digits from `start` up to the first byte that is not a digit. Returns whether they are a
   * 64-bit integer without leading zeros.
   */
  parseDigits(bytes: Uint8Array, start: number): boolean {
    let high = 0;
    let low = 0;
    let at = start;
    for (let digit = bytes[at]! - ZERO; digit >= 0 && digit <= 9; ) {
      let part = 0;
      let scale = 1;
      for (let left = 6; left > 0 && digit >= 0 && digit <= 9; left--) {
        part = part * 10 + digit;
        scale *= 10;
        digit = bytes[++at]! - ZERO;
      }
      const value = low * scale + part;
      low = value >>> 0;
      high = high * scale + Math.floor(value / HALF);
      if (high >= HALF) return false;
    }
    this.high = high;
    this.low = low;
    return at > start && bytes[start] !== ZERO;
  }
}

/** The length of a time such as `Wed Oct 10 20:19:24 +0000 2018`, without its quotes. */
const TIME_LENGTH = 30;

// Placeholders in the pattern `START`.
const OPTIONAL_SPACE = 0;
const TIME = 1;
const DIGITS = 2;

const FIRST_KEY = bytesOf('{"created_at"');
const NUMBER_KEY = bytesOf(',"id":');
const ID_KEY = bytesOf(',"id_str":"');
const LAST = bytesOf('"}');
/** The patterns for the start of a post in the `original` and in the `activity_streams` format. */
const START = bytesOf(
  ...['{"created_at":', OPTIONAL_SPACE, '"', TIME, '",', OPTIONAL_SPACE],
  ...['"id":', OPTIONAL_SPACE, DIGITS, ',', OPTIONAL_SPACE],
  ...['"id_str":', OPTIONAL_SPACE, '"', DIGITS, '"'],
);
const START_OF_STREAMS = bytesOf(
  ...['{"id":', OPTIONAL_SPACE, '"tag:search.twitter.com,2005:', DIGITS, '"'],
);

function bytesOf(...pieces: readonly (string | number)[]): Uint8Array {
  return Uint8Array.from(
    pieces.flatMap(piece => (typeof piece === 'string' ? [...Buffer.from(piece)] : [piece])),
  );
}

/**
 * Returns the id of a post whose first members are `created_at`, a number `id` and `id_str`. The service
 * prints the `original` format in this way. One space may follow each colon and comma, because many JSON
 * libraries print one. Returns `undefined` for any other document.
 */
export function leadingId(json: Buffer): string | undefined {
  const start = leadingIdStart(json);
  return start === -1 ? undefined : json.toString('latin1', start, afterDigits(json, start));
}

/**
 * Returns the position of the digits that `leadingId` returns, in a document that begins at `start`. Returns
 * -1 if there is no such id. A quote follows the digits. Never reads beyond the line.
 */
export function leadingIdStart(json: Buffer, start = 0): number {
  return digitsInPattern(json, start, START);
}

/**
 * Returns the position of the digits in the id of a post in the `activity_streams` format. `start` is the
 * start of the post. Returns -1 if the post does not begin with an id such as
 * `tag:search.twitter.com,2005:1050118621198921728`.
 */
export function leadingTagIdStart(json: Buffer, start: number): number {
  return digitsInPattern(json, start, START_OF_STREAMS);
}

/**
 * Whether the digits at this position are in a `tag:` id, which `leadingTagIdStart` finds, and not in an
 * `id_str`, which `leadingIdStart` finds.
 */
export function isInTagId(json: Buffer, digits: number): boolean {
  return json[digits - 1] === COLON;
}

/**
 * If the bytes at `start` match the pattern, returns the position of the last number in them, otherwise -1.
 * V8 would take three times as long to compile a separate function for each kind of byte in a pattern.
 */
function digitsInPattern(json: Buffer, start: number, pattern: Uint8Array): number {
  let at = start;
  let digits = -1;
  for (let index = 0; index < pattern.length; index++) {
    const expected = pattern[index];
    if (expected === OPTIONAL_SPACE) {
      if (json[at] === SPACE) at++;
    } else if (expected === TIME) {
      for (const end = at + TIME_LENGTH; at < end; at++) {
        const byte = json[at];
        if (byte === QUOTE || byte === BACKSLASH || byte === LF) return -1;
      }
    } else if (expected === DIGITS) {
      digits = at;
      at = afterDigits(json, at);
      if (at === digits) return -1;
    } else if (json[at++] !== expected) return -1;
  }
  return digits;
}

/**
 * Returns the id of a post whose first member is `created_at`, and whose last two members are a number `id`
 * and the string `id_str`. Returns `undefined` for any other document.
 */
export function trailingId(json: Buffer): string | undefined {
  if (!isTextAt(json, FIRST_KEY, 0)) return undefined;
  // At the end of a document, these bytes can have only one meaning in JSON. The last quote closes a string,
  // so the quote before the digits opens that string. In the same way, the comma before `"id"` separates two
  // members.
  const end = json.length - LAST.length;
  const start = beforeDigits(json, end);
  const afterNumber = start - ID_KEY.length;
  const number = beforeDigits(json, afterNumber);
  const isLast =
    isTextAt(json, LAST, end) &&
    end > start &&
    isTextAt(json, ID_KEY, afterNumber) &&
    afterNumber > number &&
    isTextAt(json, NUMBER_KEY, number - NUMBER_KEY.length);
  return isLast ? json.toString('latin1', start, end) : undefined;
}

function beforeDigits(json: Buffer, end: number): number {
  let at = end;
  while (isDigit(json[at - 1])) at--;
  return at;
}
