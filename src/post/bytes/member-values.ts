import { COLON, isDigit, MINUS, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../json/byte-codes.js';
import { isLong, quoteIntegers } from '../../json/exact-ids.js';
import { jsonText } from '../../json/json-text.js';
import type { MemberFinder } from './find-members.js';

/**
 * Flag bits that `find-members.as` sets in the end offset of a string: `BEYOND_ASCII` if the string has
 * characters beyond ASCII, and `ESCAPES` if it has escapes.
 */
export const BEYOND_ASCII = 0x80000000;
export const ESCAPES = 0x40000000;
const POSITION = 0x3fffffff;

const SMALL_N = 0x6e;

/** Thrown if a post has a value that only the JSON parser can read. */
export class LeftToParser extends Error {}

export type MemberValues = ReturnType<typeof memberValues>;

/**
 * Creates functions that read the values that a finder has found, by their indexes in `spans`.
 *
 * They are closures instead of methods, because V8 treats the variables of a closure as constants. This makes
 * writing rows about 5 % faster.
 */
export function memberValues({ bytes, spans }: MemberFinder) {
  /** Returns the start of a value, or 0 if the document does not have the value. */
  const startOf = (value: number) => spans[value]!;
  const endOf = (value: number) => spans[value + 1]! & POSITION;
  const hasEscapes = (value: number) => (spans[value + 1]! & ESCAPES) !== 0;
  // Whether a value is a string. For an absent value, this tests the first byte of the document, which is not
  // a quote.
  const isText = (value: number) => bytes[spans[value]!] === QUOTE;
  const isList = (value: number) => bytes[spans[value]!] === OPEN_ARRAY;
  const isObject = (value: number) => spans[value] !== 0 && bytes[spans[value]!] === OPEN_OBJECT;
  const isBlank = (value: number) =>
    isText(value) ? endOf(value) === startOf(value) + 2 : isNone(value);

  /**
   * Whether a value is absent or null. Compares the letters of `null` one by one. This function runs for most
   * cells of a table, and a call of the general function `is` would be slower.
   */
  function isNone(value: number): boolean {
    const start = spans[value]!;
    if (start === 0) return true;
    if (bytes[start] !== SMALL_N || endOf(value) !== start + 4) return false;
    return bytes[start + 1] === 0x75 && bytes[start + 2] === 0x6c && bytes[start + 3] === 0x6c;
  }

  function is(value: number, word: string): boolean {
    const start = startOf(value);
    if (endOf(value) - start !== word.length) return false;
    for (let letter = 0; letter < word.length; letter++)
      if (bytes[start + letter] !== word.charCodeAt(letter)) return false;
    return true;
  }

  function isDigits(value: number): boolean {
    if (!isText(value)) return false;
    const [start, end] = [startOf(value) + 1, endOf(value) - 1];
    for (let place = start; place < end; place++) if (!isDigit(bytes[place]!)) return false;
    return end > start;
  }

  /**
   * Returns the position of the first digit of an id in a string. The digits must end at the closing quote.
   * They must be the whole string or, if `hasPrefix` is true, may follow a colon. Returns -1 for any other
   * string.
   */
  function digitsOfId(value: number, hasPrefix: boolean): number {
    if (!isText(value)) return -1;
    const [start, end] = [startOf(value) + 1, endOf(value) - 1];
    let at = end;
    while (at > start && isDigit(bytes[at - 1]!)) at--;
    if (at === end || (at !== start && !(hasPrefix && bytes[at - 1] === COLON))) return -1;
    return at;
  }

  return {
    ...{ startOf, endOf, hasEscapes, isText, isObject, isList, isNone, isBlank, is },
    ...{ isDigits, digitsOfId },
  };
}

/**
 * Returns the same value that `parsePost` would return. Returns `undefined` if the document does not have the
 * value.
 *
 * @param value The index of the value in `spans`.
 * @throws LeftToParser if the value is a list, an object or invalid.
 */
export function readMember({ bytes, spans }: MemberFinder, value: number): unknown {
  const start = spans[value]!;
  const flaggedEnd = spans[value + 1]!;
  if (start === 0) return undefined;
  const end = flaggedEnd & POSITION;
  switch (bytes[start]) {
    case QUOTE:
      if ((flaggedEnd & ESCAPES) !== 0) return JSON.parse(jsonText(bytes.subarray(start, end)));
      return bytes.toString(
        (flaggedEnd & BEYOND_ASCII) !== 0 ? 'utf8' : 'latin1',
        start + 1,
        end - 1,
      );
    case 0x6e: // n
      return wordAt(bytes, start, end, 'null', null);
    case 0x66: // f
      return wordAt(bytes, start, end, 'false', false);
    case 0x74: // t
      return wordAt(bytes, start, end, 'true', true);
    default:
      return numberAt(bytes, start, end);
  }
}

function wordAt<T>(bytes: Buffer, start: number, end: number, word: string, value: T): T {
  if (end - start !== word.length) throw new LeftToParser();
  for (let at = 0; at < word.length; at++)
    if (bytes[start + at] !== word.charCodeAt(at)) throw new LeftToParser();
  return value;
}

function numberAt(bytes: Buffer, start: number, end: number): unknown {
  let number = 0;
  let at = start;
  for (; at < end && isDigit(bytes[at]!); at++) number = number * 10 + bytes[at]! - 0x30;
  if (at === end && end - start < 16 && (bytes[start] !== 0x30 || end - start === 1)) return number;
  if (bytes[start] !== MINUS && !isDigit(bytes[start]!)) throw new LeftToParser();
  return JSON.parse(quoteIntegers(bytes.toString('latin1', start, end), isLong));
}
