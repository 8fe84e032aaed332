import { DataError } from '../base/errors.js';
import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isDigit,
  OPEN_OBJECT,
  QUOTE,
} from './byte-codes.js';
import { excerpt } from './excerpt.js';

/** The only bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT = 0x20;

/**
 * How many bytes at the end of a document are searched for a member. In the `activity_streams` format, `gnip`
 * and the members after it have up to 1.5 KiB in most posts.
 */
const SEARCHED_BYTES = 2048;

/**
 * The list of members has this many numbers for each member: the start and end of its key, and the start and
 * end of its value.
 */
const STRIDE = 4;

/**
 * A view of one JSON object in its bytes. Finds members by their keys, and copies and parses only the
 * requested members. Scans no further than necessary, and remembers the members that it has passed. Keys must
 * be ASCII.
 *
 * Gives the same results as parsing, if the keys of each object are unique. If a key is repeated,
 * `JSON.parse` takes the last member, but this class may take another one. Skipped members are not checked,
 * so damage in them is not found.
 *
 * @throws DataError From every method, if the bytes that it reads are not JSON.
 */
export class LazyObject {
  #bytes: Buffer;
  /**
   * Four numbers for each member that was read so far: the start and end of its key, including the quotes,
   * and the start and end of its value. If a key has escapes, its start is stored as a negative number.
   */
  readonly #members: number[] = [];
  /** The position of the delimiter before the next member. At the end, the position of the closing brace. */
  #at: number;

  private constructor(bytes: Buffer, openBrace: number) {
    this.#bytes = bytes;
    this.#at = openBrace;
  }

  static of(document: Buffer): LazyObject | undefined {
    const start = afterSpace(document, 0);
    return document[start] === OPEN_OBJECT ? new LazyObject(document, start) : undefined;
  }

  /** Replaces the buffer with another buffer that holds the same bytes. */
  moveTo(bytes: Buffer): void {
    this.#bytes = bytes;
  }

  /** Returns the one of the given keys that comes first in the object. */
  firstOf(keys: readonly string[]): string | undefined {
    for (let index = 0; index < this.#members.length || this.#advance(); index += STRIDE)
      for (const key of keys) if (this.#isKey(index, key)) return key;
    return undefined;
  }

  string(key: string): string | undefined {
    const index = this.#find(key);
    if (index === -1 || this.#bytes[this.#start(index)] !== QUOTE) return undefined;
    return decodeString(this.#bytes, this.#start(index), this.#end(index));
  }

  integer(key: string): string | undefined {
    const index = this.#find(key);
    if (index === -1) return undefined;
    const token = this.#bytes.toString('latin1', this.#start(index), this.#end(index));
    return /^-?\d+$/.test(token) ? token : undefined;
  }

  /**
   * Returns the digits at the end of a string member. They must be the whole string or follow a colon, like
   * the id in `tag:search.twitter.com,2005:1050118621198921728`.
   */
  lastDigits(key: string): string | undefined {
    const index = this.#find(key);
    if (index === -1 || this.#bytes[this.#start(index)] !== QUOTE) return undefined;
    const end = this.#end(index) - 1;
    let at = end;
    while (isDigit(this.#bytes[at - 1])) at--;
    const before = this.#bytes[at - 1];
    if (at < end && (before === COLON || at - 1 === this.#start(index)))
      return this.#bytes.toString('latin1', at, end);
    // The slow case: decodes the string, because its colon or digits may be written as escapes.
    return /(?:^|:)(\d+)$/.exec(this.string(key) ?? '')?.[1];
  }

  object(key: string): LazyObject | undefined {
    const index = this.#find(key);
    if (index === -1 || this.#bytes[this.#start(index)] !== OPEN_OBJECT) return undefined;
    return new LazyObject(this.#bytes, this.#start(index));
  }

  /** Returns the position of a member's value in the document: its start (inclusive) and end (exclusive). */
  span(key: string): readonly [number, number] | undefined {
    const index = this.#find(key);
    return index === -1 ? undefined : [this.#start(index), this.#end(index)];
  }

  get closing(): { readonly at: number; readonly empty: boolean } {
    while (this.#advance());
    return { at: this.#at, empty: this.#members.length === 0 };
  }

  /**
   * Looks for a member near the end of the document, and returns whether it is there. Call this for keys that
   * usually come last.
   */
  seekFromEnd(key: string): boolean {
    const start = keyNearEnd(this.#bytes, key);
    const span = start === -1 ? undefined : spanAt(this.#bytes, start, key, this.#bytes.length);
    if (span === undefined) return false;
    this.#members.push(start, start + key.length + 2, ...span);
    return true;
  }

  #start(index: number): number {
    return this.#members[index + 2]!;
  }

  #end(index: number): number {
    return this.#members[index + 3]!;
  }

  #find(key: string): number {
    for (let index = 0; index < this.#members.length || this.#advance(); index += STRIDE)
      if (this.#isKey(index, key)) return index;
    return -1;
  }

  #isKey(index: number, key: string): boolean {
    const start = this.#members[index]!;
    const end = this.#members[index + 1]!;
    if (start < 0) return decodeString(this.#bytes, -start, end) === key;
    return end - start - 2 === key.length && isStringAt(this.#bytes, start, key);
  }

  #advance(): boolean {
    const bytes = this.#bytes;
    const delimiter = bytes[this.#at];
    if (delimiter === CLOSE_OBJECT) return false;
    // Most documents have no white space here. Each check for the expected byte then saves a call of
    // `afterSpace`.
    let keyStart = this.#at + 1;
    if (bytes[keyStart] !== QUOTE) keyStart = afterSpace(bytes, keyStart);
    if (delimiter === OPEN_OBJECT && bytes[keyStart] === CLOSE_OBJECT) {
      this.#at = keyStart;
      return false;
    }
    if (bytes[keyStart] !== QUOTE) throw notJson(bytes, 'a key', keyStart);
    let keyEnd = keyStart + 1;
    let escaped = false;
    for (; bytes[keyEnd] !== QUOTE; keyEnd++) {
      if (keyEnd >= bytes.length) throw notJson(bytes, 'the end of a key', keyEnd);
      if (bytes[keyEnd] === BACKSLASH) {
        escaped = true;
        keyEnd++;
      }
    }
    keyEnd++;
    let colon = keyEnd;
    if (bytes[colon] !== COLON) colon = afterSpace(bytes, colon);
    if (bytes[colon] !== COLON) throw notJson(bytes, 'a colon', colon);
    let start = colon + 1;
    if (bytes[start] !== QUOTE) start = afterSpace(bytes, start);
    const end = afterValue(bytes, start);
    if (end === start) throw notJson(bytes, 'a value', start);
    let next = end;
    if (bytes[next] !== COMMA) next = afterSpace(bytes, next);
    if (bytes[next] !== COMMA && bytes[next] !== CLOSE_OBJECT)
      throw notJson(bytes, 'a comma or a closing brace', next);
    this.#members.push(escaped ? -keyStart : keyStart, keyEnd, start, end);
    this.#at = next;
    return true;
  }
}

/**
 * Finds a top-level member near the end of a document, and returns the start and end of its value. The
 * document is in `bytes` from `start` to `end`. A member is at the top level if its object ends at `end`.
 */
export function spanNearEnd(
  bytes: Buffer,
  key: string,
  start = 0,
  end = bytes.length,
): readonly [number, number] | undefined {
  const member = keyNearEnd(bytes, key, start, end);
  return member === -1 ? undefined : spanAt(bytes, member, key, end);
}

/**
 * Returns the start and the end of the value of a member, such as `matching_rules`, in an object, such as
 * `gnip`. The object must be a top-level member near the end of the document between `start` and `end`.
 * Returns `undefined` if the object is not there or does not have the member.
 */
export function spanInObjectNearEnd(
  bytes: Buffer,
  [object, key]: readonly [string, string],
  start: number,
  end: number,
): readonly [number, number] | undefined {
  const outer = spanNearEnd(bytes, object, start, end);
  if (outer === undefined || bytes[outer[0]] !== OPEN_OBJECT) return undefined;
  const [brace, after] = outer;
  const last = keyNearEnd(bytes, key, brace, after);
  const inner = readMembers(bytes, last === -1 ? afterSpace(bytes, brace + 1) : last, key);
  return inner.after === after - 1 ? inner.span : undefined;
}

/**
 * Returns the start and the end of the value of the first member that has the key, reading from the member at
 * `member`. Returns `undefined` if these members are not at the top level.
 */
function spanAt(
  bytes: Buffer,
  member: number,
  key: string,
  end: number,
): readonly [number, number] | undefined {
  const { span, after } = readMembers(bytes, member, key);
  return isEndOfObject(bytes, after, end) ? span : undefined;
}

/**
 * Reads the members from `member` to the end of their object. Returns the position after the last value,
 * where a closing brace should be, and the start and the end of the value of the first member that has the
 * key.
 */
function readMembers(
  bytes: Buffer,
  member: number,
  key: string,
): { readonly after: number; readonly span: readonly [number, number] | undefined } {
  let span: readonly [number, number] | undefined;
  while (true) {
    const start = valueStart(bytes, member);
    const end = afterValue(bytes, start);
    if (span === undefined && isStringAt(bytes, member, key)) span = [start, end];
    const after = afterSpace(bytes, end);
    if (bytes[after] !== COMMA) return { after, span };
    member = afterSpace(bytes, after + 1);
  }
}

function valueStart(bytes: Buffer, member: number): number {
  return afterSpace(bytes, afterSpace(bytes, afterString(bytes, member)) + 1);
}

function isStringAt(bytes: Buffer, start: number, text: string): boolean {
  const { length } = text;
  if (bytes[start + length + 1] !== QUOTE) return false;
  for (let at = 0; at < length; at++)
    if (bytes[start + 1 + at] !== text.charCodeAt(at)) return false;
  return true;
}

function isEndOfObject(bytes: Buffer, at: number, end: number): boolean {
  return at < end && bytes[at] === CLOSE_OBJECT && afterSpace(bytes, at + 1) >= end;
}

/**
 * The bytes of a key, for a search from the end of a document to the left (Boyer-Moore-Horspool). After a
 * mismatch, the search moves `steps[byte]` to the left. `byte` is the byte at the current position.
 */
interface Needle {
  readonly bytes: Buffer;
  readonly steps: Uint8Array;
}

const needles = new Map<string, Needle>();

function needleOf(key: string): Needle {
  let needle = needles.get(key);
  if (needle === undefined) {
    const bytes = Buffer.from(`"${key}"`);
    const steps = new Uint8Array(256).fill(bytes.length);
    for (let at = bytes.length - 1; at > 0; at--) steps[bytes[at]!] = at;
    needle = { bytes, steps };
    needles.set(key, needle);
  }
  return needle;
}

/**
 * Finds the last occurrence of a key within a range of bytes. Returns the position of its opening quote, or
 * -1. Searches only near the end of the range. A match between a comma and a colon can only be a key, because
 * a backslash comes before each quote inside a string.
 */
export function keyNearEnd(bytes: Buffer, key: string, start = 0, end = bytes.length): number {
  const needle = needleOf(key);
  const { steps } = needle;
  const { length } = needle.bytes;
  const floor = Math.max(start, end - SEARCHED_BYTES);
  for (let at = end - length; at > floor; at -= steps[bytes[at]!]!) {
    if (bytes[at] !== QUOTE) continue;
    let same = 1;
    while (same < length && bytes[at + same] === needle.bytes[same]) same++;
    if (same === length && isKeyAt(bytes, at, at + length)) return at;
  }
  return -1;
}

function isKeyAt(bytes: Buffer, start: number, end: number): boolean {
  let before = start - 1;
  while (isSpace(bytes[before])) before--;
  return bytes[before] === COMMA && bytes[afterSpace(bytes, end)] === COLON;
}

function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * Returns the position after a string. Other files have their own versions of this function. When two
 * scanners shared one function, reading ids and tags of stored files was 6 % slower.
 */
function afterString(bytes: Buffer, start: number): number {
  const { length } = bytes;
  let at = start + 1;
  while (at < length) {
    const byte = bytes[at++];
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) at++;
  }
  return at;
}

/**
 * Returns the position after a value. Brackets are counted but not matched, because skipped values are not
 * validated.
 */
function afterValue(bytes: Buffer, start: number): number {
  const { length } = bytes;
  const first = bytes[start]!;
  if (first === QUOTE) return afterString(bytes, start);
  if ((first | BRACE_BIT) !== OPEN_OBJECT) return afterScalar(bytes, start);
  let depth = 0;
  for (let at = start; at < length; ) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = afterString(bytes, at);
      continue;
    }
    at++;
    const bracket = byte | BRACE_BIT;
    if (bracket === OPEN_OBJECT) depth++;
    else if (bracket === CLOSE_OBJECT && --depth === 0) return at;
  }
  return length;
}

function afterScalar(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && isOfScalar(bytes[at]!)) at++;
  return at;
}

function isOfScalar(byte: number): boolean {
  if (byte < 0x41)
    return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x2b && byte <= 0x2e && byte !== COMMA);
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}

function decodeString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw notJson(bytes, 'a string', start);
  }
}

function notJson(bytes: Buffer, expected: string, byteOffset: number): DataError {
  return new DataError(`Not JSON: expected ${expected}; it starts with ${excerpt(bytes)}`, {
    position: { byteOffset },
  });
}
