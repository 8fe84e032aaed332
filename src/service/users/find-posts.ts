import { FIRST_POST, MINUTE, SECOND, type Window } from '../../time.js';
import type { Archive, ArchivedPost, ArchiveQuery } from '../archive/archive.js';
import { ID_EPOCH } from '../id-epoch.js';

/** Ids below counted posts, and ended before the others had become as large. */
const FIRST_WITH_TIME = 30_000_000_000n;

/** The post of an id, where the archive shows it. */
export async function findPost(
  archive: Archive,
  id: string,
  now: number,
  signal: AbortSignal,
): Promise<ArchivedPost | undefined> {
  const number = BigInt(id);
  if (number < FIRST_WITH_TIME) return findCounted(archive, number, signal);
  const at = Number(number >> 22n) + ID_EPOCH;
  if (at > now + SECOND) return undefined;
  // Posts have whole seconds, and some were given the one before or after.
  const window = { from: at - 2 * SECOND, to: at + 2 * SECOND };
  return newest(archive, query(number), window, signal);
}

/** Ids that counted posts: the larger, the later, but for posts of the same moment. */
async function findCounted(
  archive: Archive,
  number: bigint,
  signal: AbortSignal,
): Promise<ArchivedPost | undefined> {
  let from = FIRST_POST;
  let to = ID_EPOCH + MINUTE;
  while (to - from > MINUTE) {
    const middle = from + Math.floor((to - from) / 2);
    const before = await lastBefore(archive, { from, to: middle }, signal);
    if (before !== undefined && BigInt(before.id) >= number) to = middle;
    else from = middle;
  }
  const window = { from: from - 10 * MINUTE, to: to + 10 * MINUTE };
  return newest(archive, query(number), window, signal);
}

/** The newest post of a window, looked for from its end on in ever longer parts: most hold one at once. */
async function lastBefore(
  archive: Archive,
  window: Window,
  signal: AbortSignal,
): Promise<ArchivedPost | undefined> {
  for (let { to } = window, length = MINUTE; to > window.from; length *= 8) {
    const from = Math.max(window.from, to - length);
    const found = await newest(archive, ANY, { from, to }, signal);
    if (found !== undefined) return found;
    to = from;
  }
  return undefined;
}

async function newest(
  archive: Archive,
  rule: ArchiveQuery,
  window: Window,
  signal: AbortSignal,
): Promise<ArchivedPost | undefined> {
  const { posts } = await archive.search(rule, window, { limit: 1, signal });
  return posts[0];
}

/** No term that an index could know: every post is looked at. */
const ALL = { kind: 'and', nodes: [], start: 0, end: 0 } as const;
const ANY: ArchiveQuery = { tree: ALL, matches: () => true };

function query(id: bigint): ArchiveQuery {
  return { tree: ALL, matches: activity => BigInt(activity.id) === id };
}
