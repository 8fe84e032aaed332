import { SECOND } from '../../../time.js';
import {
  BUCKET_BYTES,
  BUCKET_TERMS,
  bucketOf,
  HEADER_BYTES,
  ID_BYTES,
  MAGIC,
  PLACE_BYTES,
  TIME_BYTES,
} from './block-layout.js';
import { spotBytes, writeSpot } from './block-spots.js';
import { NO_OCCURRENCES } from './post-occurrences.js';
import type { SpooledPost } from './spool.js';
import { Bytes } from './varints.js';

/** A block as a file, and what is in it. */
export interface WrittenBlock {
  readonly parts: readonly Buffer[];
  /** Without those that came twice. */
  readonly posts: number;
}

/** Makes a block of the posts from `from` on: newest first, each id once, the first of each. */
export function writeBlock(all: readonly SpooledPost[], from: number): WrittenBlock {
  const posts = newestFirst(all);
  const terms = writeTerms(posts);
  const parts = [
    writeEach(posts, TIME_BYTES, (into, at, post) =>
      into.writeUInt32LE((post.at - from) / SECOND, at),
    ),
    writeEach(posts, ID_BYTES, (into, at, post) => into.writeBigUInt64LE(post.id, at)),
    writeEach(posts, PLACE_BYTES, (into, at, post) => {
      into.writeUInt32LE(post.file, at);
      into.writeUInt32LE(post.bytes, at + 4);
      into.writeDoubleLE(post.offset, at + 8);
    }),
    writeSpots(posts),
    terms.table,
    terms.buckets,
  ];
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 0, 'latin1');
  header.writeUInt32LE(posts.length, 8);
  header.writeUInt32LE(terms.table.length / BUCKET_BYTES - 1, 12);
  let end = HEADER_BYTES;
  parts.slice(0, -1).forEach((part, i) => {
    end += part.length;
    header.writeDoubleLE(end, 16 + 8 * i);
  });
  return { parts: [header, ...parts], posts: posts.length };
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

function writeEach(
  posts: readonly SpooledPost[],
  bytes: number,
  write: (into: Buffer, at: number, post: SpooledPost) => void,
): Buffer {
  const written = Buffer.alloc(posts.length * bytes);
  posts.forEach((post, i) => {
    write(written, i * bytes, post);
  });
  return written;
}

function writeSpots(posts: readonly SpooledPost[]): Buffer {
  const parts = posts.flatMap(({ spot }, ordinal) => {
    if (spot === undefined) return [];
    const written = Buffer.alloc(4 + spotBytes(spot));
    writeSpot(written, written.writeUInt32LE(ordinal), spot);
    return [written];
  });
  return Buffer.concat(parts);
}

/** Of a term: ordinals of its posts, and its occurrences in each. */
interface TermPosts {
  readonly ordinals: number[];
  readonly occurrences: Uint8Array[];
}

function writeTerms(posts: readonly SpooledPost[]): { table: Buffer; buckets: Buffer } {
  const terms = new Map<string, TermPosts>();
  posts.forEach((post, ordinal) => {
    for (const { text, occurrences } of post.terms) {
      let term = terms.get(text);
      if (term === undefined) {
        term = { ordinals: [], occurrences: [] };
        terms.set(text, term);
      }
      term.ordinals.push(ordinal);
      term.occurrences.push(occurrences);
    }
  });
  const count = Math.max(Math.ceil(terms.size / BUCKET_TERMS), 1);
  const buckets: [Buffer, TermPosts][][] = Array.from({ length: count }, () => []);
  for (const [text, found] of terms) {
    const term = Buffer.from(text);
    buckets[bucketOf(term, count)]?.push([term, found]);
  }
  const table = Buffer.alloc((count + 1) * BUCKET_BYTES);
  const written = new Bytes();
  buckets.forEach((bucket, i) => {
    for (const [term, found] of bucket) writeTerm(written, term, found);
    table.writeUInt32LE(written.length, (i + 1) * BUCKET_BYTES);
  });
  return { table, buckets: written.take() };
}

const deltas = new Bytes();

function writeTerm(into: Bytes, term: Buffer, { ordinals, occurrences }: TermPosts): void {
  into.varint(term.length);
  into.add(term);
  deltas.clear();
  let before = 0;
  for (const ordinal of ordinals) {
    deltas.varint(ordinal - before);
    before = ordinal;
  }
  into.varint(deltas.length);
  into.add(deltas.take());
  const isWord = occurrences.some(({ length }) => length > 0);
  const places = isWord
    ? occurrences.map(bytes => (bytes.length > 0 ? bytes : NO_OCCURRENCES))
    : [];
  into.varint(places.reduce((sum, { length }) => sum + length, 0));
  for (const bytes of places) into.add(bytes);
}
