import { FIRST_POST, MINUTE, SECOND, type Window } from '../../time.js';
import type { Archive, ArchivedPost, ArchiveQuery } from '../archive/archive.js';
import { ID_EPOCH } from '../id-epoch.js';

/** Lower ids are sequential, without a time in them; all time-based ids are higher. */
const MIN_TIME_BASED = 30_000_000_000n;

/** The post with an id, if the archive has it. */
export async function findPost(
  archive: Archive,
  id: string,
  now: number,
  signal: AbortSignal,
): Promise<ArchivedPost | undefined> {
  const number = BigInt(id);
  if (number < MIN_TIME_BASED) return findSequential(archive, number, signal);
  const at = Number(number >> 22n) + ID_EPOCH;
  if (at > now + SECOND) return undefined;
  // Posts have whole seconds, some of them the one before or after that of the id.
  const window = { from: at - 2 * SECOND, to: at + 2 * SECOND };
  return newest(archive, query(number), window, signal);
}

/** Binary search: sequential ids grow with time, except within the same moment. */
async function findSequential(
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

/** The newest post of a window. Searches growing parts from its end, since the first usually has one. */
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

/** Without a term for the index, so every post of the window is read. */
const ALL = { kind: 'and', nodes: [], start: 0, end: 0 } as const;
const ANY: ArchiveQuery = { tree: ALL, matches: () => true };

function query(id: bigint): ArchiveQuery {
  return { tree: ALL, matches: activity => BigInt(activity.id) === id };
}
