import type { Position } from '../../../activity/post-fields.js';
import { HASH_START, hashText } from '../../../rules/post/tokeniser.js';
import { indexOf, type Occurrence, type PostLocation, TEXT_STRIDE, textOf } from '../block.js';

/**
 * A block on disk, all numbers little-endian:
 *
 *     header    magic (8 bytes), posts (4), buckets (4), then the start of each further part (8 each)
 *     times     seconds after the block's start, 4 bytes a post, newest first
 *     ids       8 bytes a post
 *     lines     file (4), length of the line (4), offset in the file's text (8)
 *     locations posts with a location: document (4), whether it is exact and number of corners (2 each),
 *               then longitude and latitude (8 each) of the position and of each corner
 *     table     the start of each bucket in the terms, 4 bytes each, and the end of the last
 *     terms     buckets: for each term its length, its UTF-8, the length of its postings, the postings,
 *               the length of its occurrences, the occurrences
 *
 * Lengths and postings are varints; postings are the differences between ascending documents, and
 * occurrences follow in the same order. Terms that are not words have none.
 */
export const MAGIC = 'mrblock2';
export const PARTS = 5;
export const HEADER_BYTES = 8 + 4 + 4 + PARTS * 8;
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

/** Writes a whole number from 0 to 2^32 - 1, seven bits a byte, low bits first. Returns the end. */
function writeVarint(into: Uint8Array, at: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  into[at++] = rest;
  return at;
}

/** The maximum size of a number in bytes. */
const VARINT_BYTES = 5;

/** A buffer that grows as bytes are added. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1024);
  length = 0;

  varint(value: number): void {
    this.#reserve(VARINT_BYTES);
    this.length = writeVarint(this.#bytes, this.length, value);
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

type Location = Omit<PostLocation, 'document'>;

const POINT_BYTES = 16;

export function locationBytes(location: Location | undefined): number {
  return 4 + POINT_BYTES * pointsOf(location).length;
}

/** Writes whether there is an exact position, the number of corners, and all points. Returns the end. */
export function writeLocation(into: Buffer, start: number, location: Location | undefined): number {
  let at = into.writeUInt16LE(location?.position === undefined ? 0 : 1, start);
  at = into.writeUInt16LE(location?.corners.length ?? 0, at);
  for (const [longitude, latitude] of pointsOf(location)) {
    at = into.writeDoubleLE(longitude, at);
    at = into.writeDoubleLE(latitude, at);
  }
  return at;
}

export function readLocation(
  from: Buffer,
  start: number,
): { readonly location: Location | undefined; readonly end: number } {
  const hasPosition = from.readUInt16LE(start) === 1;
  const count = from.readUInt16LE(start + 2) + (hasPosition ? 1 : 0);
  const points = Array.from({ length: count }, (_, i): Position => {
    const at = start + 4 + i * POINT_BYTES;
    return [from.readDoubleLE(at), from.readDoubleLE(at + 8)];
  });
  const end = start + 4 + count * POINT_BYTES;
  if (count === 0) return { location: undefined, end };
  const [position, ...rest] = points;
  return {
    location: hasPosition ? { position, corners: rest } : { position: undefined, corners: points },
    end,
  };
}

function pointsOf(location: Location | undefined): readonly Position[] {
  if (location === undefined) return [];
  return location.position === undefined
    ? location.corners
    : [location.position, ...location.corners];
}

/** Maximum number of bytes that `writeOccurrences` writes. */
export function occurrenceBytes(count: number): number {
  return 2 * VARINT_BYTES * count;
}

/** The two low bits of each number say whether a text number follows and whether it is the last one. */
export function writeOccurrences(into: Uint8Array, at: number, all: readonly Occurrence[]): number {
  let end = at;
  let before = 0;
  for (let i = 0; i < all.length; i++) {
    const occurrence = all[i] as Occurrence;
    const text = textOf(occurrence);
    const flags = (text === before ? 0 : 2) + (i === all.length - 1 ? 1 : 0);
    end = writeVarint(into, end, indexOf(occurrence) * 4 + flags);
    if (text !== before) end = writeVarint(into, end, text);
    before = text;
  }
  return end;
}

/**
 * Marks a post that has the term as a pair of adjacent characters, not as a word: a pair of regional
 * letters is the same term as a flag.
 */
const NONE = 0x1000_0000;
export const NO_OCCURRENCES: Uint8Array = Buffer.alloc(VARINT_BYTES);
writeVarint(NO_OCCURRENCES, 0, NONE);

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
