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

/** The one bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT = 0x20;

/** How far from the end a member is looked for. */
const REACH = 1024;

/** Entries that one member takes in the list of members: start and end of key, then of value. */
const STRIDE = 4;

/**
 * A view of one JSON object in its bytes. It finds members by key, and copies and parses only these. It
 * scans forward no further than it must, and remembers the members it has passed. Keys to find are ASCII.
 *
 * Equal to parsing, for any JSON document whose object keys are unique: where a key comes twice,
 * `JSON.parse` takes the last. Skipped members are not checked, so damage there is not found.
 *
 * @throws DataError From every method, if the bytes it reads are not JSON.
 */
export class LazyObject {
  #bytes: Buffer;
  /** Keys with their quotes; the start of a key that has escapes is negative. */
  readonly #members: number[] = [];
  /** The delimiter before the next member, or the closing brace. */
  #at: number;

  private constructor(bytes: Buffer, openBrace: number) {
    this.#bytes = bytes;
    this.#at = openBrace;
  }

  /** The object that a document is, or `undefined` when it is something else. */
  static of(document: Buffer): LazyObject | undefined {
    const start = afterSpace(document, 0);
    return document[start] === OPEN_OBJECT ? new LazyObject(document, start) : undefined;
  }

  /** Views equal bytes elsewhere from now on. */
  moveTo(bytes: Buffer): void {
    this.#bytes = bytes;
  }

  /** Whichever of the keys comes first. */
  firstOf(keys: readonly string[]): string | undefined {
    for (let index = 0; index < this.#members.length || this.#advance(); index += STRIDE)
      for (const key of keys) if (this.#isKey(index, key)) return key;
    return undefined;
  }

  /** A member that is a string, decoded. */
  string(key: string): string | undefined {
    const index = this.#find(key);
    if (index === -1 || this.#bytes[this.#start(index)] !== QUOTE) return undefined;
    return decodeString(this.#bytes, this.#start(index), this.#end(index));
  }

  /** A member that is an integer, as its exact digits. */
  integer(key: string): string | undefined {
    const index = this.#find(key);
    if (index === -1) return undefined;
    const token = this.#bytes.toString('latin1', this.#start(index), this.#end(index));
    return /^-?\d+$/.test(token) ? token : undefined;
  }

  /**
   * The digits that a string ends with, if it has nothing else or a colon before them: the id in
   * `tag:search.twitter.com,2005:1050118621198921728`.
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
    // Escapes may hide a colon or a digit.
    return /(?:^|:)(\d+)$/.exec(this.string(key) ?? '')?.[1];
  }

  /** A member that is an object. */
  object(key: string): LazyObject | undefined {
    const index = this.#find(key);
    if (index === -1 || this.#bytes[this.#start(index)] !== OPEN_OBJECT) return undefined;
    return new LazyObject(this.#bytes, this.#start(index));
  }

  /** The position of a member's value in the document: start, inclusive, and end, exclusive. */
  span(key: string): readonly [number, number] | undefined {
    const index = this.#find(key);
    return index === -1 ? undefined : [this.#start(index), this.#end(index)];
  }

  /** The position of the closing brace, and whether the object is empty. */
  get closing(): { readonly at: number; readonly empty: boolean } {
    while (this.#advance());
    return { at: this.#at, empty: this.#members.length === 0 };
  }

  /** Looks for a member of the whole document close to its end; for keys that usually come last. */
  seekFromEnd(key: string): void {
    const span = spanNearEnd(this.#bytes, key);
    if (span === undefined) return;
    const start = keyNearEnd(this.#bytes, key);
    this.#members.push(start, start + key.length + 2, ...span);
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
    if (end - start - 2 !== key.length) return false;
    for (let at = 0; at < key.length; at++)
      if (this.#bytes[start + 1 + at] !== key.charCodeAt(at)) return false;
    return true;
  }

  /** Reads one more member; false at the end of the object. */
  #advance(): boolean {
    const bytes = this.#bytes;
    const delimiter = bytes[this.#at];
    if (delimiter === CLOSE_OBJECT) return false;
    // Most documents have no white space: each check saves a call.
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
 * The position of the value of a top-level member that is close to the end of the document: a member is one of
 * the top level if its object ends where the document does.
 */
export function spanNearEnd(bytes: Buffer, key: string): readonly [number, number] | undefined {
  let member = keyNearEnd(bytes, key);
  if (member === -1) return undefined;
  let span: readonly [number, number] | undefined;
  while (true) {
    const start = afterSpace(bytes, afterSpace(bytes, afterString(bytes, member)) + 1);
    const end = afterValue(bytes, start);
    span ??= [start, end];
    const next = afterSpace(bytes, end);
    if (bytes[next] !== COMMA)
      return bytes[next] === CLOSE_OBJECT && afterSpace(bytes, next + 1) === bytes.length
        ? span
        : undefined;
    member = afterSpace(bytes, next + 1);
  }
}

/** The bytes to find, and for each byte at their possible start how far to step left (Boyer-Moore-Horspool). */
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
 * The position of a key with its quotes, the last one close to the end of a document within the bytes, or -1; reads
 * few of the bytes after it. Between a comma and a colon, the text can only be a key, as quotes in strings follow
 * a backslash.
 */
export function keyNearEnd(bytes: Buffer, key: string, start = 0, end = bytes.length): number {
  const needle = needleOf(key);
  const { steps } = needle;
  const { length } = needle.bytes;
  const floor = Math.max(start, end - REACH);
  for (let at = end - length; at > floor; at -= steps[bytes[at]!]!) {
    if (bytes[at] !== QUOTE) continue;
    let same = 1;
    while (same < length && bytes[at + same] === needle.bytes[same]) same++;
    if (same === length && isKeyAt(bytes, at, at + length)) return at;
  }
  return -1;
}

/** Whether a comma comes before a string, and a colon after it. */
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
 * The position after a string. This file does not share its scanning functions: sharing them with another scanner made
 * reading ids and tags of stored files 6 % slower.
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

/** Brackets are counted, not matched: skipped values are not validated. */
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

/** Letters, digits, plus, minus and dot. */
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
