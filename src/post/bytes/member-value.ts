import { isLong, quoteIntegers } from '../../json/exact-json.js';
import { isDigit, MINUS, QUOTE } from '../../json/json-bytes.js';
import { jsonText } from '../../json/json-text.js';
import { BEYOND_ASCII, ESCAPES, POSITION } from '../../json/member-spans.js';

/** The post has something that only the parser reads. */
export class LeftToParser extends Error {}

/**
 * The value of a member, except lists and objects, as `parsePost` has it; `undefined` where there is none.
 *
 * @param start As `MemberSpans.positions` have it, as well as the end.
 * @throws LeftToParser for other values.
 */
export function memberValue(bytes: Buffer, start: number, flaggedEnd: number): unknown {
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
