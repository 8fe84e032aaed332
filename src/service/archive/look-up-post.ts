import { FIRST_POST, MINUTE, SECOND, type Window } from '../../base/time.js';
import type { Author } from '../../post/activity.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import { type Deadline, DeadlineError } from '../event-loop-yield.js';
import type { Archive, ArchivedPost, ArchiveQuery } from './archive.js';

/** The epoch of ids. The bits above the lowest 22 of an id are the milliseconds since 2010-11-04T01:42:54.657Z. */
export const ID_EPOCH = 1_288_834_974_657;

/** Ids below this are sequential and contain no time. All ids that contain a time are higher. */
const MIN_TIME_BASED = 30_000_000_000n;

export function newestPost(archive: Archive, now: number): Promise<ArchivedPost | undefined> {
  return lastBefore(archive, { from: FIRST_POST, to: now + 1 });
}

/**
 * Finds an author by handle, ignoring case. Returns the author as described in their newest post in the
 * archive.
 */
export async function findAuthor(
  archive: Archive,
  handle: string,
  now: number,
): Promise<Author | undefined> {
  const name = handle.replace(/^@/, '');
  if (!/^\w{1,50}$/.test(name)) return undefined;
  if (archive.author !== undefined) return archive.author(name);
  // If the handle consists of digits, `from` also matches the author with this id. Therefore, the last line
  // compares the handle.
  const tree: RuleNode = { kind: 'operator', name: 'from', value: name, start: 0, end: 0 };
  const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
  const post = await newest(archive, rule, { from: FIRST_POST, to: now + 1 });
  const author = post?.activity.author;
  return author?.handle.toLowerCase() === name.toLowerCase() ? author : undefined;
}

export interface LookUpLimits {
  readonly signal: AbortSignal;
  readonly deadline?: Deadline | undefined;
}

/** @throws DeadlineError after `limits.deadline`. */
export async function findPost(
  archive: Archive,
  id: string,
  now: number,
  limits: LookUpLimits,
): Promise<ArchivedPost | undefined> {
  const known = archive.post?.(id);
  if (known !== undefined) return known;
  const number = BigInt(id);
  if (number < MIN_TIME_BASED) return findSequential(archive, id, limits);
  const at = Number(number >> 22n) + ID_EPOCH;
  if (at > now + SECOND) return undefined;
  // Searches 2 s before and after the time in the id. The time of a post is in whole seconds, and may differ
  // from the time in the id by 1 s.
  const window = { from: at - 2 * SECOND, to: at + 2 * SECOND };
  return newest(archive, queryOfId(id), window, limits);
}

/**
 * Finds a post with a sequential id by binary search. Sequential ids grow with time, except among posts of
 * nearly the same time.
 */
async function findSequential(
  archive: Archive,
  id: string,
  limits: LookUpLimits,
): Promise<ArchivedPost | undefined> {
  const number = BigInt(id);
  let from = FIRST_POST;
  let to = ID_EPOCH + MINUTE;
  while (to - from > MINUTE) {
    const middle = from + Math.floor((to - from) / 2);
    const before = await lastBefore(archive, { from, to: middle }, limits);
    if (before !== undefined && BigInt(before.id) >= number) to = middle;
    else from = middle;
  }
  const window = { from: from - 10 * MINUTE, to: to + 10 * MINUTE };
  return newest(archive, queryOfId(id), window, limits);
}

/**
 * Returns the newest post of a window. Searches from the end of the window in parts of growing length.
 * Usually, the first part has a post.
 */
async function lastBefore(
  archive: Archive,
  window: Window,
  limits?: LookUpLimits,
): Promise<ArchivedPost | undefined> {
  for (let { to } = window, length = MINUTE; to > window.from; length *= 8) {
    const from = Math.max(window.from, to - length);
    const found = await newest(archive, ANY, { from, to }, limits);
    if (found !== undefined) return found;
    to = from;
  }
  return undefined;
}

async function newest(
  archive: Archive,
  rule: ArchiveQuery,
  window: Window,
  { signal, deadline }: Partial<LookUpLimits> = {},
): Promise<ArchivedPost | undefined> {
  const deadlineMs = deadline?.leftMs;
  const found = await archive.search(rule, window, { limit: 1, deadlineMs, signal });
  const { posts, reached } = found;
  if (posts.length === 0 && reached !== undefined) throw new DeadlineError();
  return posts[0];
}

/**
 * The tree of a query by id. It has no terms, so the index excludes no post, and every post of the window is
 * read.
 */
const ALL = { kind: 'and', nodes: [], start: 0, end: 0 } as const;
/**
 * A query that matches every post. The tree negates an empty `or`, so the index knows without reading posts
 * that all of them match.
 */
export const ANY: ArchiveQuery = {
  tree: { kind: 'not', node: { kind: 'or', nodes: [], start: 0, end: 0 }, start: 0, end: 0 },
  matches: () => true,
};

export function queryOfId(id: string): ArchiveQuery {
  const number = BigInt(id);
  return { tree: ALL, matches: activity => BigInt(activity.id) === number };
}
