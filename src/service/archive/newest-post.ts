import { FIRST_POST } from '../../time.js';
import type { Archive, ArchivedPost } from './archive.js';

/** The newest post of an archive; undefined for an empty one. */
export async function newestPost(archive: Archive, now: number): Promise<ArchivedPost | undefined> {
  const tree = { kind: 'and', nodes: [], start: 0, end: 0 } as const;
  const window = { from: FIRST_POST, to: now + 1 };
  const { posts } = await archive.search({ tree, matches: () => true }, window, { limit: 1 });
  return posts[0];
}
