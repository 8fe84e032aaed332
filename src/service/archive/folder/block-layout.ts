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

export function bucketOf(term: Uint8Array, buckets: number): number {
  let hash = 0x811c9dc5;
  for (const byte of term) hash = Math.imul(hash ^ byte, 0x01000193);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % buckets;
}
