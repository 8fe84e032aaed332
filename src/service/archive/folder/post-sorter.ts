import { SpoolFile } from '../../../storage/spool-file.js';
import { floorTo, MINUTE } from '../../../time.js';
import { firstWhere } from '../block-archive.js';
import { occurrenceBytes, readLocation, writeLocation, writeOccurrences } from './block-layout.js';
import type { IndexedPost } from './read-post.js';

/** Posts read from the sorter's file. */
export interface SortedPosts {
  /** The bytes that contain their terms. */
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
/** The size of a post without its terms and location. */
const FIXED_BYTES = 4 + 8 + 8 + 4 + 8 + 4 + 4;

/** A run, which is a sorted part of the file: the start of the posts of each minute. */
interface SortedRun {
  readonly minutes: Float64Array;
  /** Positions in the file. The last one, after those of the minutes, is the end of the run. */
  readonly starts: Float64Array;
}

/**
 * Sorts posts by minute in bounded memory. It writes runs that are each sorted in memory; `read`
 * collects a range of minutes from all runs.
 */
export class PostSorter {
  readonly #file: SpoolFile;
  readonly #runs: SortedRun[] = [];
  #written = 0;
  #buffer = Buffer.alloc(0);
  #used = 0;
  #entries: { minute: number; start: number; end: number }[] = [];
  /** The number of posts of each minute. */
  readonly counts = new Map<number, number>();

  readonly #runBytes: number;

  private constructor(file: SpoolFile, runBytes: number) {
    this.#file = file;
    this.#runBytes = runBytes;
  }

  /** `folder` is for a temporary file; `runBytes` is the size of a run, which is sorted in memory. */
  static async create(folder: string, runBytes = RUN_BYTES): Promise<PostSorter> {
    return new PostSorter(await SpoolFile.open('posts to sort', folder), runBytes);
  }

  /** Adds a post of the file with the number `file`. */
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

  /** Completes the file; `read` may be called after it. */
  async finish(): Promise<void> {
    await this.#flush();
    this.#buffer = Buffer.alloc(0);
  }

  /** The posts from one minute to another, exclusive, unordered. */
  async read(from: number, to: number): Promise<SortedPosts> {
    const parts: Buffer[] = [];
    for (const { minutes, starts } of this.#runs) {
      const [start, end] = [from, to].map(minute => {
        const index = firstWhere(minutes.length, i => (minutes[i] as number) >= minute);
        return starts[index] as number;
      }) as [number, number];
      if (start < end) parts.push(await this.#file.read(start, end - start));
    }
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    const posts: SortedPost[] = [];
    for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) posts.push(read(bytes, at));
    return { bytes, posts };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #flush(): Promise<void> {
    // The sort is stable: posts of the same minute stay in the order of the files.
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
    await this.#file.write([sorted.subarray(0, length)]);
    this.#written += length;
    this.#runs.push({
      minutes: Float64Array.from(minutes),
      starts: Float64Array.from([...starts, this.#written]),
    });
    this.#entries = [];
    this.#used = 0;
  }
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

/** Reads the terms of a post, each with the start and end of its occurrences in the same bytes. */
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
