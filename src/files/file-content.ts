import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/json-bytes.js';
import type { RowBounds } from './row-fields.js';

const LINE_FEED = Buffer.of(LF);

/** The content of a decoded file, on the thread that holds it, and where its posts are. */
export class FileContent {
  /** Another one where posts were replaced by longer ones. */
  bytes: Buffer;
  readonly bounds: RowBounds;

  constructor(bytes: Buffer, bounds: RowBounds) {
    this.bytes = bytes;
    this.bounds = bounds;
  }

  /** Some of the posts, as views. */
  posts(rows: Uint32Array): Buffer[] {
    const { bytes } = this;
    const { starts, lengths } = this.bounds;
    return Array.from(rows, row => bytes.subarray(starts[row]!, starts[row]! + lengths[row]!));
  }

  /** The lines of the rows from one index up to another, as views. Copying posts to one buffer takes longer than the system takes for many. */
  lines(rows: Uint32Array, from: number, to: number): Buffer[] {
    const { bytes } = this;
    const { starts, lengths } = this.bounds;
    const pieces: Buffer[] = [];
    for (let index = from; index < to; ) {
      const start = starts[rows[index]!]!;
      let end = start + lengths[rows[index++]!]!;
      // Posts that follow each other in both files, with one line feed between them, are one piece.
      while (index < to && starts[rows[index]!] === end + 1 && bytes[end] === LF)
        end += 1 + lengths[rows[index++]!]!;
      if (bytes[end] === LF) pieces.push(bytes.subarray(start, end + 1));
      else pieces.push(bytes.subarray(start, end), LINE_FEED);
    }
    return pieces;
  }

  /** Puts other posts in the place of some. Where they need more space, the memory of the first content is released. */
  replace(rows: Uint32Array, posts: readonly Uint8Array[]): void {
    const { bytes: before, bounds } = this;
    const size = movePosts(before.length, bounds, rows, posts);
    if (size > before.length) {
      // It may be transferred: its memory is its own.
      this.bytes = Buffer.allocUnsafeSlow(size);
      before.copy(this.bytes);
      releaseMemory(before);
    }
    // What follows a post stays: another one may begin there, on the same line.
    for (const [at, post] of posts.entries()) this.bytes.set(post, bounds.starts[rows[at]!]!);
  }

  /** Frees the memory; views of it are empty from then on. */
  release(): void {
    releaseMemory(this.bytes);
  }
}

/** Says where posts are that replace others: at the end of the content where they are longer. Returns its size then. */
export function movePosts(
  size: number,
  { starts, lengths }: RowBounds,
  rows: Uint32Array,
  posts: readonly Uint8Array[],
): number {
  let end = size;
  for (const [at, row] of rows.entries()) {
    const { length } = posts[at]!;
    if (length > lengths[row]!) {
      starts[row] = end;
      end += length + 1;
    }
    lengths[row] = length;
  }
  return end;
}
