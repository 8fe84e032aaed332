import { HASH_START, hashText } from '../../../rules/post/tokeniser.js';
import { indexOf, type Occurrence, TEXT_STRIDE, textOf } from '../block.js';
import type { IndexedTerms } from './read-post.js';

/**
 * A block on disk, all numbers little-endian:
 *
 *     header    magic (8 bytes), then the start of each part (8 each)
 *     times     seconds after the block's start, 4 bytes a post, newest first
 *     ids       8 bytes a post
 *     lines     file (4), length of the line (4), offset in the file's text (8)
 *     locations JSON: the posts with a location
 *     table     the start of each bucket in the terms, 4 bytes each, and the end of the last
 *     terms     buckets: for each term its length, its UTF-8, the length of its postings, the postings,
 *               the length of its occurrences, the occurrences
 *
 * Lengths and postings are varints; postings are the differences between ascending documents, and
 * occurrences follow in the same order. Terms that are not words have none.
 */
export const MAGIC = 'mrblock3';
export const PARTS = ['times', 'ids', 'lines', 'locations', 'table', 'terms'] as const;
export const HEADER_BYTES = 8 + 8 * PARTS.length;
export const TIME_BYTES = 4;
export const ID_BYTES = 8;
export const LINE_BYTES = 16;
export const BUCKET_BYTES = 4;
/** The average number of terms in a bucket. */
export const BUCKET_TERMS = 6;

export function bucketOf(term: Buffer, buckets: number): number {
  // A character for each byte.
  let hash = hashText(HASH_START, term.toString('latin1'));
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % buckets;
}

/** The position of a post's line. */
export interface LinePosition {
  /** Number of the file in the list of files. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
}

/** The maximum size of a number in bytes. */
const VARINT_BYTES = 5;

/** A buffer that grows as bytes are added. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1024);
  length = 0;

  /** Adds a whole number from 0 to 2^32 - 1, seven bits a byte, low bits first. */
  varint(value: number): void {
    this.#reserve(VARINT_BYTES);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.length++] = rest;
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Adds the length of the bytes and then the bytes. */
  addWithLength(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.add(bytes);
  }

  /** The added bytes, valid until `clear`. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.length + more));
    grown.set(this.written());
    this.#bytes = grown;
  }
}

/** Reads varints in sequence. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}

/**
 * Encodes the occurrences that follow a term. The two low bits of each number say whether a text number follows and
 * whether it is the last one. Returns where the next term is.
 */
export function encodeOccurrences(terms: IndexedTerms, start: number, into: number[]): number {
  let at = start;
  let before = 0;
  for (let here = terms[at]; typeof here === 'number'; ) {
    const text = textOf(here);
    const next = terms[++at];
    into.push(indexOf(here) * 4 + (text === before ? 0 : 2) + (typeof next === 'number' ? 0 : 1));
    if (text !== before) into.push(text);
    before = text;
    here = next;
  }
  if (at === start) into.push(NONE);
  return at;
}

/**
 * Marks a post that has the term as a pair of adjacent characters, not as a word: a pair of regional
 * letters is the same term as a flag.
 */
const NONE = 0x1000_0000;

/** Reads the occurrences of one post into `into`, or skips them without it. */
export function readOccurrences(from: VarintReader, into?: Occurrence[]): void {
  for (let text = 0, isLast = false; !isLast; ) {
    const value = from.next();
    if (value === NONE) return;
    if ((value & 2) !== 0) text = from.next();
    isLast = (value & 1) !== 0;
    into?.push(text * TEXT_STRIDE + (value >>> 2));
  }
}
