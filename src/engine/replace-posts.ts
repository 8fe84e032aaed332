import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/json-bytes.js';
import type { RowBounds } from './row-fields.js';

/** Some of the posts, as views. */
export function postsIn(
  content: Buffer,
  { starts, lengths }: RowBounds,
  rows: Uint32Array,
): Buffer[] {
  return Array.from(rows, row => content.subarray(starts[row]!, starts[row]! + lengths[row]!));
}

/**
 * Puts other posts in the place of some, and returns the content. It is another one, and the memory of the first is
 * released, where they need more space.
 */
export function withPosts(
  content: Buffer,
  bounds: RowBounds,
  rows: Uint32Array,
  posts: readonly Uint8Array[],
): Buffer {
  const size = movePosts(content.length, bounds, rows, posts);
  let changed = content;
  if (size > content.length) {
    // It may be transferred: its memory is its own.
    changed = Buffer.allocUnsafeSlow(size);
    content.copy(changed);
    releaseMemory(content);
  }
  for (const [at, post] of posts.entries()) {
    const start = bounds.starts[rows[at]!]!;
    changed.set(post, start);
    // Lines are written together with the byte after them. A shorter post leaves space for it.
    changed[start + post.length] = LF;
  }
  return changed;
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
