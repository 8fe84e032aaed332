import { SECOND } from '../../../time.js';
import { getOrMake } from '../../get-or-make.js';
import {
  BUCKET_BYTES,
  BUCKET_TERMS,
  ByteWriter,
  bucketOf,
  encodeOccurrences,
  HEADER_BYTES,
  ID_BYTES,
  LINE_BYTES,
  MAGIC,
  PARTS,
  TIME_BYTES,
} from './block-layout.js';
import type { SortedPost } from './post-sorter.js';
import type { IndexedTerms } from './read-post.js';

/** A block as the bytes of a file. */
export interface WrittenBlock {
  readonly bytes: Buffer;
  /** The number of posts, each id once. */
  readonly posts: number;
}

/**
 * Writes a block of posts, newest first. Of posts with the same id and time, only the first is kept.
 *
 * @param from The start of the block's range, in epoch milliseconds.
 */
export function writeBlock(all: readonly SortedPost[], from: number): WrittenBlock {
  const posts = newestFirst(all);
  const located = posts.flatMap(({ location }, document) =>
    location === undefined ? [] : [{ document, ...location }],
  );
  const parts: Record<(typeof PARTS)[number], Buffer> = {
    times: writeEach(posts, TIME_BYTES, (into, at, post) =>
      into.writeUInt32LE((post.at - from) / SECOND, at),
    ),
    ids: writeEach(posts, ID_BYTES, (into, at, post) => into.writeBigUInt64LE(post.id, at)),
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
  for (const [i, name] of PARTS.entries()) {
    header.writeDoubleLE(start, MAGIC.length + 8 * i);
    start += parts[name].length;
  }
  const bytes = Buffer.concat([header, ...PARTS.map(name => parts[name])]);
  return { bytes, posts: posts.length };
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
  for (const [i, post] of posts.entries()) write(written, i * bytes, post);
  return written;
}

/** The postings of a term and its occurrences, each as the numbers that are written. */
interface TermPosts {
  readonly postings: number[];
  readonly occurrences: number[];
  isWord: boolean;
  /** The last document. */
  last: number;
}

const newTerm = (): TermPosts => ({ postings: [], occurrences: [], isWord: false, last: 0 });

function writeTerms(posts: readonly SortedPost[]): { table: Buffer; terms: Buffer } {
  const terms = new Map<string, TermPosts>();
  for (const [document, post] of posts.entries()) {
    const listed: IndexedTerms = JSON.parse(post.terms.toString());
    for (let at = 0; at < listed.length; ) {
      const term = getOrMake(terms, listed[at++] as string, newTerm);
      term.postings.push(document - term.last);
      term.last = document;
      const end = encodeOccurrences(listed, at, term.occurrences);
      term.isWord ||= end > at;
      at = end;
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

/** Valid until the next call. */
function varints(numbers: readonly number[]): Buffer {
  part.clear();
  for (const number of numbers) part.varint(number);
  return part.written();
}
