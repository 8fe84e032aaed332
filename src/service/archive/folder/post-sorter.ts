import { type FileHandle, open } from 'node:fs/promises';
import { floorTo, MINUTE } from '../../../time.js';
import { readLocation, writeLocation } from './location-codec.js';
import { occurrenceBytes, writeOccurrences } from './post-occurrences.js';
import type { IndexedPost } from './read-post.js';

/** Posts that were read back. */
export interface SortedPosts {
  /** What their terms are in. */
  readonly bytes: Buffer;
  readonly posts: readonly SortedPost[];
}

export interface SortedPost {
  readonly at: number;
  readonly id: bigint;
  /** Number of the file in the list of files. */
  readonly file: number;
  readonly offset: number;
  readonly length: number;
  readonly location: IndexedPost['location'];
  readonly termsStart: number;
  readonly termsEnd: number;
}

const RUN_BYTES = 24 * 1024 * 1024;
/** Bytes of a post besides its terms and location. */
const FIXED_BYTES = 4 + 8 + 8 + 4 + 8 + 4 + 4;

/** One sorted piece of the spool file: where the posts of each minute begin. */
interface SortedRun {
  readonly minutes: Float64Array;
  /** In the spool; one more than minutes, the last is the run's end. */
  readonly starts: Float64Array;
}

/**
 * Posts on their way from files in any order to blocks in order of time, in bounded memory: they are
 * sorted by minute in pieces, and a minute is read back from all the pieces that have some of it.
 */
export class PostSorter {
  readonly #file: FileHandle;
  readonly #runs: SortedRun[] = [];
  #written = 0;
  #buffer = Buffer.alloc(0);
  #used = 0;
  #entries: { minute: number; start: number; end: number }[] = [];
  /** How many posts each minute has. */
  readonly counts = new Map<number, number>();

  readonly #runBytes: number;

  private constructor(file: FileHandle, runBytes: number) {
    this.#file = file;
    this.#runBytes = runBytes;
  }

  /** `runBytes` are sorted in memory at once. */
  static async create(path: string, runBytes = RUN_BYTES): Promise<PostSorter> {
    return new PostSorter(await open(path, 'wx+'), runBytes);
  }

  /** Takes a post; resolves once it may be forgotten. */
  async add(post: IndexedPost, file: number): Promise<void> {
    let length = FIXED_BYTES + 16 * (1 + (post.location?.corners.length ?? 0));
    for (const { text, occurrences } of post.terms)
      length += 4 + 3 * text.length + occurrenceBytes(occurrences.length);
    if (this.#used + length > this.#buffer.length) await this.#flush();
    if (length > this.#buffer.length)
      this.#buffer = Buffer.allocUnsafe(Math.max(2 * length, this.#runBytes));
    const minute = floorTo(MINUTE, post.at);
    const start = this.#used;
    this.#used = write(this.#buffer, start, post, file);
    this.#entries.push({ minute, start, end: this.#used });
    this.counts.set(minute, (this.counts.get(minute) ?? 0) + 1);
  }

  /** No more posts come: those of any minutes can be read. */
  async finish(): Promise<void> {
    await this.#flush();
    this.#buffer = Buffer.alloc(0);
  }

  /** The posts from one minute to another, exclusive, in no order. */
  async read(from: number, to: number): Promise<SortedPosts> {
    const pieces: Buffer[] = [];
    for (const { minutes, starts } of this.#runs) {
      const start = starts[firstFrom(minutes, from)] as number;
      const end = starts[firstFrom(minutes, to)] as number;
      if (start < end) pieces.push(await readFrom(this.#file, start, end - start));
    }
    const bytes = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    const posts: SortedPost[] = [];
    for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) posts.push(read(bytes, at));
    return { bytes, posts };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #flush(): Promise<void> {
    // Stable: the posts of a minute stay in the order of the files.
    const entries = this.#entries.sort((a, b) => a.minute - b.minute);
    if (entries.length === 0) return;
    const minutes: number[] = [];
    const starts: number[] = [];
    const sorted = Buffer.allocUnsafe(this.#used);
    let length = 0;
    for (const { minute, start, end } of entries) {
      if (minutes.at(-1) !== minute) {
        minutes.push(minute);
        starts.push(this.#written + length);
      }
      length += this.#buffer.copy(sorted, length, start, end);
    }
    await this.#file.write(sorted, 0, length, this.#written);
    this.#written += length;
    this.#runs.push({
      minutes: Float64Array.from(minutes),
      starts: Float64Array.from([...starts, this.#written]),
    });
    this.#entries = [];
    this.#used = 0;
  }
}

/** The first of ascending minutes that is not before `from`, or their number. */
function firstFrom(minutes: Float64Array, from: number): number {
  let low = 0;
  let high = minutes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((minutes[middle] as number) >= from) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function readFrom(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Error('The spool of the index is shorter than it was written');
    read += bytesRead;
  }
  return bytes;
}

function write(into: Buffer, start: number, post: IndexedPost, file: number): number {
  let at = into.writeDoubleLE(post.at, start + 4);
  at = into.writeBigUInt64LE(post.id, at);
  at = into.writeUInt32LE(file, at);
  at = into.writeDoubleLE(post.offset, at);
  at = into.writeUInt32LE(post.bytes, at);
  at = writeLocation(into, at, post.location);
  for (const { text, occurrences } of post.terms) {
    const bytes = into.write(text, at + 4);
    const end = writeOccurrences(into, at + 4 + bytes, occurrences);
    into.writeUInt16LE(bytes, at);
    into.writeUInt16LE(end - at - 4 - bytes, at + 2);
    at = end;
  }
  into.writeUInt32LE(at - start, start);
  return at;
}

function read(from: Buffer, start: number): SortedPost {
  const { location, end } = readLocation(from, start + FIXED_BYTES - 4);
  return {
    at: from.readDoubleLE(start + 4),
    id: from.readBigUInt64LE(start + 12),
    file: from.readUInt32LE(start + 20),
    offset: from.readDoubleLE(start + 24),
    length: from.readUInt32LE(start + 32),
    location: location,
    termsStart: end,
    termsEnd: start + from.readUInt32LE(start),
  };
}

/** Reads the terms of a post: each with where its occurrences are in the same bytes. */
export function readTerms(
  bytes: Buffer,
  { termsStart, termsEnd }: SortedPost,
  take: (text: string, start: number, end: number) => void,
): void {
  for (let at = termsStart; at < termsEnd; ) {
    const middle = at + 4 + bytes.readUInt16LE(at);
    const end = middle + bytes.readUInt16LE(at + 2);
    take(bytes.toString('utf8', at + 4, middle), middle, end);
    at = end;
  }
}
