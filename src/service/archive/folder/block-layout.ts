import { SECOND } from '../../../base/time.js';
import { HASH_START, hashText } from '../../../rules/post/tokeniser.js';
import { getOrMake } from '../../cache.js';
import { newestFirst } from '../archive.js';
import { type Occurrence, occurrenceAt, textNumberOf, wordIndexOf } from '../block.js';
import type { SortedPost } from './post-sorter.js';
import type { IndexedTerm } from './read-post.js';

/**
 * The layout of a block on disk. All numbers are little-endian:
 *
 *     header    magic (8 bytes), then the start of each part (8 each)
 *     times     seconds after the block's start, 4 bytes per post, newest first
 *     ids       8 bytes per post
 *     lines     file (4), length of the line (4), offset in the file's text (8)
 *     locations JSON: the posts with a location
 *     table     the start of each bucket in the terms, 4 bytes each, and the end of the last
 *     terms     buckets: for each term its length, its UTF-8, the length of its postings, the postings,
 *               the length of its occurrences, the occurrences
 *
 * Lengths and postings are varints. Postings are the differences between ascending documents. Occurrences
 * have the same order. Terms that are not words have no occurrences.
 */
export const MAGIC = 'mrblock3';
export const BLOCK_PARTS = ['times', 'ids', 'lines', 'locations', 'table', 'terms'] as const;
export const HEADER_BYTES = 8 + 8 * BLOCK_PARTS.length;
export const TIME_BYTES = 4;
export const ID_BYTES = 8;
export const LINE_BYTES = 16;
export const BUCKET_BYTES = 4;
/** The average number of terms per bucket. */
const BUCKET_TERMS = 6;

export function bucketOf(term: Buffer, buckets: number): number {
  // Latin-1 maps each byte to one character, so every byte is hashed.
  let hash = hashText(HASH_START, term.toString('latin1'));
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % buckets;
}

export interface LinePosition {
  /** The index of the file in the list of files. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
}

const MAX_VARINT_BYTES = 5;

class ByteWriter {
  #bytes = Buffer.allocUnsafe(1024);
  length = 0;

  /** Adds an integer from 0 to 2^32 - 1, with 7 bits per byte, low bits first. */
  varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.length++] = rest;
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  addWithLength(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.add(bytes);
  }

  /** Returns the added bytes. They stay valid until `clear` is called. */
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

export class VarintReader {
  readonly #bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
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
 * Appends the occurrences of a word in one post to `into`. An occurrence is written as the index of the word
 * in its string, times 4, plus two flags. Flag 1 marks the last occurrence. Flag 2 means that the number of
 * the string follows. Without flag 2, the string is the same as for the previous occurrence, or string 0 for
 * the first.
 */
function encodeOccurrences(term: IndexedTerm, into: number[]): void {
  let before = 0;
  for (let i = 1; i < term.length; i++) {
    const occurrence = term[i] as Occurrence;
    const text = textNumberOf(occurrence);
    const isLast = i === term.length - 1;
    into.push(wordIndexOf(occurrence) * 4 + (text === before ? 0 : 2) + (isLast ? 1 : 0));
    if (text !== before) into.push(text);
    before = text;
  }
  if (term.length === 1) into.push(NONE);
}

/**
 * Written instead of occurrences if no word of the post is the term, but two adjacent characters form the
 * term. For example, two adjacent regional indicators form the same term as a flag emoji.
 */
const NONE = 0x1000_0000;

/** Reads the occurrences of a word in one post into `into`. If `into` is absent, skips them. */
export function readOccurrences(from: VarintReader, into?: Occurrence[]): void {
  for (let text = 0, isLast = false; !isLast; ) {
    const value = from.next();
    if (value === NONE) return;
    if ((value & 2) !== 0) text = from.next();
    isLast = (value & 1) !== 0;
    into?.push(occurrenceAt(text, value >>> 2));
  }
}

export interface WrittenBlock {
  readonly bytes: Buffer;
  /** The number of posts, without duplicate ids. */
  readonly posts: number;
}

/**
 * Writes a block of posts, newest first. If posts have the same id and time, only the first is kept.
 *
 * @param from The start of the block's range, in epoch milliseconds.
 */
export function writeBlock(all: readonly SortedPost[], from: number): WrittenBlock {
  const posts = distinct(all);
  const located = posts.flatMap(({ location }, document) =>
    location === undefined ? [] : [{ document, ...location }],
  );
  const parts: Record<(typeof BLOCK_PARTS)[number], Buffer> = {
    times: writeEach(posts, TIME_BYTES, (into, at, post) =>
      into.writeUInt32LE((post.at - from) / SECOND, at),
    ),
    ids: writeEach(posts, ID_BYTES, (into, at, post) => into.writeBigUInt64LE(BigInt(post.id), at)),
    lines: writeEach(posts, LINE_BYTES, (into, at, post) => {
      into.writeUInt32LE(post.file, at);
      into.writeUInt32LE(post.bytes, at + 4);
      into.writeDoubleLE(post.offset, at + 8);
    }),
    locations: Buffer.from(JSON.stringify(located)),
    ...writeTerms(posts),
  };
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 0, 'latin1');
  let start = HEADER_BYTES;
  for (const [i, name] of BLOCK_PARTS.entries()) {
    header.writeDoubleLE(start, MAGIC.length + 8 * i);
    start += parts[name].length;
  }
  const bytes = Buffer.concat([header, ...BLOCK_PARTS.map(name => parts[name])]);
  return { bytes, posts: posts.length };
}

function distinct(posts: readonly SortedPost[]): readonly SortedPost[] {
  const sorted = posts.toSorted(
    (a, b) => newestFirst(a, b) || a.file - b.file || a.offset - b.offset,
  );
  return sorted.filter((post, i) => post.id !== sorted[i - 1]?.id || post.at !== sorted[i - 1]?.at);
}

function writeEach(
  posts: readonly SortedPost[],
  bytes: number,
  write: (into: Buffer, at: number, post: SortedPost) => void,
): Buffer {
  const written = Buffer.alloc(posts.length * bytes);
  for (const [i, post] of posts.entries()) write(written, i * bytes, post);
  return written;
}

interface TermPosts {
  readonly postings: number[];
  readonly occurrences: number[];
  isWord: boolean;
  last: number;
}

const newTerm = (): TermPosts => ({ postings: [], occurrences: [], isWord: false, last: 0 });

function writeTerms(posts: readonly SortedPost[]): { table: Buffer; terms: Buffer } {
  const terms = new Map<string, TermPosts>();
  for (const [document, post] of posts.entries()) {
    const listed: readonly IndexedTerm[] = JSON.parse(post.terms.toString());
    for (const term of listed) {
      const found = getOrMake(terms, term[0], newTerm);
      found.postings.push(document - found.last);
      found.last = document;
      encodeOccurrences(term, found.occurrences);
      found.isWord ||= term.length > 1;
    }
  }
  const count = Math.max(Math.ceil(terms.size / BUCKET_TERMS), 1);
  const buckets: [Buffer, TermPosts][][] = Array.from({ length: count }, () => []);
  for (const [text, found] of terms) {
    const term = Buffer.from(text);
    buckets[bucketOf(term, count)]?.push([term, found]);
  }
  const table = Buffer.alloc((count + 1) * BUCKET_BYTES);
  const written = new ByteWriter();
  for (const [i, bucket] of buckets.entries()) {
    for (const [term, { postings, occurrences, isWord }] of bucket) {
      written.addWithLength(term);
      written.addWithLength(varints(postings));
      written.addWithLength(varints(isWord ? occurrences : []));
    }
    table.writeUInt32LE(written.length, (i + 1) * BUCKET_BYTES);
  }
  return { table, terms: written.written() };
}

const part = new ByteWriter();

/** The result is valid until the next call. */
function varints(numbers: readonly number[]): Buffer {
  part.clear();
  for (const number of numbers) part.varint(number);
  return part.written();
}
