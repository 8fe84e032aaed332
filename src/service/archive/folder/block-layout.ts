/**
 * A block on disk, all numbers little-endian:
 *
 *     header    magic (8 bytes), posts, buckets, then where each part starts (8 bytes each)
 *     times     seconds after the block's start, 4 bytes a post, newest first
 *     ids       8 bytes a post
 *     places    file (4), length of the line (4), offset in the file's text (8)
 *     table     where each bucket starts in the terms, 4 bytes each, and where the last ends
 *     terms     buckets: for each term its length, its UTF-8, the length of its postings, these
 *
 * Lengths and postings are varints; postings are the differences between ascending ordinals.
 */
export const MAGIC = 'mrblock1';
export const HEADER_BYTES = 8 + 4 + 4 + 4 * 8;
export const TIME_BYTES = 4;
export const ID_BYTES = 8;
export const PLACE_BYTES = 16;
export const BUCKET_BYTES = 4;
/** Terms in a bucket, on average. */
export const BUCKET_TERMS = 6;

export function bucketOf(term: Uint8Array, buckets: number): number {
  let hash = 0x811c9dc5;
  for (const byte of term) hash = Math.imul(hash ^ byte, 0x01000193);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % buckets;
}

/** Bytes that grow as numbers and text are added. */
export class Bytes {
  #bytes = Buffer.allocUnsafe(1024);
  length = 0;

  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.length++] = rest;
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.length + more));
    grown.set(this.take());
    this.#bytes = grown;
  }
}

/** Reads varints from a place on. */
export class Varints {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
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
