import { SECOND } from '../../../time.js';
import {
  BUCKET_BYTES,
  BUCKET_TERMS,
  Bytes,
  bucketOf,
  HEADER_BYTES,
  ID_BYTES,
  MAGIC,
  PLACE_BYTES,
  TIME_BYTES,
} from './block-layout.js';
import type { SpooledPost } from './spool.js';

/** A block as a file, and what is in it. */
export interface WrittenBlock {
  readonly bytes: Buffer;
  /** Without those that came twice. */
  readonly posts: number;
}

/** Makes a block of the posts from `from` on: newest first, each id once, the first of each. */
export function writeBlock(posts: readonly SpooledPost[], from: number): WrittenBlock {
  const kept = newestFirst(posts);
  const terms = writeTerms(kept);
  const timesAt = HEADER_BYTES;
  const idsAt = timesAt + kept.length * TIME_BYTES;
  const placesAt = idsAt + kept.length * ID_BYTES;
  const tableAt = placesAt + kept.length * PLACE_BYTES;
  const termsAt = tableAt + terms.table.length;
  const bytes = Buffer.alloc(termsAt + terms.buckets.length);
  bytes.write(MAGIC, 0, 'latin1');
  bytes.writeUInt32LE(kept.length, 8);
  bytes.writeUInt32LE(terms.table.length / BUCKET_BYTES - 1, 12);
  [idsAt, placesAt, tableAt, termsAt].forEach((at, i) => {
    bytes.writeDoubleLE(at, 16 + 8 * i);
  });
  kept.forEach((post, i) => {
    bytes.writeUInt32LE((post.at - from) / SECOND, timesAt + i * TIME_BYTES);
    bytes.writeBigUInt64LE(post.id, idsAt + i * ID_BYTES);
    const place = placesAt + i * PLACE_BYTES;
    bytes.writeUInt32LE(post.file, place);
    bytes.writeUInt32LE(post.bytes, place + 4);
    bytes.writeDoubleLE(post.offset, place + 8);
  });
  terms.table.copy(bytes, tableAt);
  terms.buckets.copy(bytes, termsAt);
  return { bytes, posts: kept.length };
}

function newestFirst(posts: readonly SpooledPost[]): readonly SpooledPost[] {
  const sorted = posts.toSorted(
    (a, b) =>
      b.at - a.at ||
      (a.id === b.id ? a.file - b.file || a.offset - b.offset : a.id < b.id ? 1 : -1),
  );
  return sorted.filter((post, i) => {
    const before = sorted[i - 1];
    return before === undefined || before.id !== post.id || before.at !== post.at;
  });
}

function writeTerms(posts: readonly SpooledPost[]): { table: Buffer; buckets: Buffer } {
  const postings = new Map<string, number[]>();
  posts.forEach((post, ordinal) => {
    for (const term of post.terms) {
      const ordinals = postings.get(term);
      if (ordinals === undefined) postings.set(term, [ordinal]);
      else ordinals.push(ordinal);
    }
  });
  const count = Math.max(Math.ceil(postings.size / BUCKET_TERMS), 1);
  const buckets: { term: Buffer; ordinals: readonly number[] }[][] = Array.from(
    { length: count },
    () => [],
  );
  for (const [text, ordinals] of postings) {
    const term = Buffer.from(text);
    buckets[bucketOf(term, count)]?.push({ term, ordinals });
  }
  const table = Buffer.alloc((count + 1) * BUCKET_BYTES);
  const written = new Bytes();
  buckets.forEach((bucket, i) => {
    for (const { term, ordinals } of bucket) {
      written.varint(term.length);
      written.add(term);
      const deltas = new Bytes();
      let before = 0;
      for (const ordinal of ordinals) {
        deltas.varint(ordinal - before);
        before = ordinal;
      }
      written.varint(deltas.length);
      written.add(deltas.take());
    }
    table.writeUInt32LE(written.length, (i + 1) * BUCKET_BYTES);
  });
  return { table, buckets: written.take() };
}
