import { SECOND } from '../../../time.js';
import { getOrMake } from '../../get-or-make.js';
import {
  BUCKET_BYTES,
  BUCKET_TERMS,
  ByteWriter,
  bucketOf,
  HEADER_BYTES,
  ID_BYTES,
  LINE_BYTES,
  locationBytes,
  MAGIC,
  NO_OCCURRENCES,
  TIME_BYTES,
  writeLocation,
} from './block-layout.js';
import { readTerms, type SortedPost, type SortedPosts } from './post-sorter.js';

/** A block as the parts of a file. */
export interface WrittenBlock {
  readonly parts: readonly Buffer[];
  /** The number of posts, each id once. */
  readonly posts: number;
}

/**
 * Writes a block of posts, newest first. Of posts with the same id and time, only the first is kept.
 *
 * @param from The start of the block's range, in epoch milliseconds.
 */
export function writeBlock({ bytes, posts: all }: SortedPosts, from: number): WrittenBlock {
  const posts = newestFirst(all);
  const terms = writeTerms(posts, bytes);
  const parts = [
    writeEach(posts, TIME_BYTES, (into, at, post) =>
      into.writeUInt32LE((post.at - from) / SECOND, at),
    ),
    writeEach(posts, ID_BYTES, (into, at, post) => into.writeBigUInt64LE(post.id, at)),
    writeEach(posts, LINE_BYTES, (into, at, post) => {
      into.writeUInt32LE(post.file, at);
      into.writeUInt32LE(post.length, at + 4);
      into.writeDoubleLE(post.offset, at + 8);
    }),
    writeLocations(posts),
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

function newestFirst(posts: readonly SortedPost[]): readonly SortedPost[] {
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
  posts: readonly SortedPost[],
  bytes: number,
  write: (into: Buffer, at: number, post: SortedPost) => void,
): Buffer {
  const written = Buffer.alloc(posts.length * bytes);
  posts.forEach((post, i) => {
    write(written, i * bytes, post);
  });
  return written;
}

function writeLocations(posts: readonly SortedPost[]): Buffer {
  const parts = posts.flatMap(({ location }, document) => {
    if (location === undefined) return [];
    const written = Buffer.alloc(4 + locationBytes(location));
    writeLocation(written, written.writeUInt32LE(document), location);
    return [written];
  });
  return Buffer.concat(parts);
}

/** The documents of a term, and the start and end of its occurrences in the sorter's bytes. */
interface TermPosts {
  readonly documents: number[];
  readonly occurrences: number[];
}

function writeTerms(
  posts: readonly SortedPost[],
  bytes: Buffer,
): { table: Buffer; buckets: Buffer } {
  const terms = new Map<string, TermPosts>();
  posts.forEach((post, document) => {
    readTerms(bytes, post, (text, start, end) => {
      const term = getOrMake(terms, text, () => ({ documents: [], occurrences: [] }));
      term.documents.push(document);
      term.occurrences.push(start, end);
    });
  });
  const count = Math.max(Math.ceil(terms.size / BUCKET_TERMS), 1);
  const buckets: [Buffer, TermPosts][][] = Array.from({ length: count }, () => []);
  for (const [text, found] of terms) {
    const term = Buffer.from(text);
    buckets[bucketOf(term, count)]?.push([term, found]);
  }
  const table = Buffer.alloc((count + 1) * BUCKET_BYTES);
  const written = new ByteWriter();
  buckets.forEach((bucket, i) => {
    for (const [term, found] of bucket) writeTerm(written, term, found, bytes);
    table.writeUInt32LE(written.length, (i + 1) * BUCKET_BYTES);
  });
  return { table, buckets: written.written() };
}

const part = new ByteWriter();

function writeTerm(into: ByteWriter, term: Buffer, found: TermPosts, bytes: Buffer): void {
  into.addWithLength(term);
  part.clear();
  let before = 0;
  for (const document of found.documents) {
    part.varint(document - before);
    before = document;
  }
  into.addWithLength(part.written());
  part.clear();
  const { occurrences } = found;
  const isWord = occurrences.some((end, i) => i % 2 === 1 && end > (occurrences[i - 1] as number));
  for (let i = 0; isWord && i < occurrences.length; i += 2) {
    const [start, end] = [occurrences[i] as number, occurrences[i + 1] as number];
    part.add(start < end ? bytes.subarray(start, end) : NO_OCCURRENCES);
  }
  into.addWithLength(part.written());
}
