import type { Window } from '../../base/time.js';
import type { Activity, Author, Format } from '../../post/activity.js';
import type { RuleNode } from '../../rules/tree.js';

/** The key by which an archive sorts posts, newest first: by time, then by id. */
export interface SortKey {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Digits only; ids compare as bigint. */
  readonly id: string;
}

/** Compares two keys: by time, then by id. */
export function newestFirst(a: SortKey, b: SortKey): number {
  if (a.at !== b.at) return b.at - a.at;
  const [idOfA, idOfB] = [BigInt(a.id), BigInt(b.id)];
  return idOfA === idOfB ? 0 : idOfA < idOfB ? 1 : -1;
}

/** A post with its sort key. The activity has `matching_rules` only if the archive stores them. */
export interface ArchivedPost extends SortKey {
  readonly activity: Activity;
}

/** A rule as a tree, for the index, and as a test of posts, for cases that the index cannot decide. */
export interface ArchiveQuery {
  readonly tree: RuleNode;
  matches(activity: Activity): boolean;
}

/** The limits of a search of an archive, and where it continues. */
export interface SearchOptions {
  /** Maximum number of posts in the result. */
  readonly limit: number;
  /** Only posts that sort strictly after this one, the last post delivered. */
  readonly after?: SortKey | undefined;
  /** The time whose state is searched, for archives from which posts disappear. */
  readonly asOf?: number | undefined;
  /** Milliseconds of real time after which the search stops, with the posts found so far. It always gets ahead. */
  readonly deadlineMs?: number | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The posts that a search of an archive has found, and whether there are more. */
export interface SearchResult {
  /** Newest first. */
  readonly posts: readonly ArchivedPost[];
  /** Whether the window has at least one more match. */
  readonly more: boolean;
  /** If the deadline ended the search: posts that sort strictly after this were not searched. */
  readonly reached?: SortKey | undefined;
}

/** The order, deadline and signal of a count of an archive. */
export interface CountsOptions {
  /** Counts from the end of the window to its start, so that a count that is cut short covers the newest posts. */
  readonly newestFirst?: boolean | undefined;
  /** Milliseconds of real time after which counting stops, also within a bucket. */
  readonly deadlineMs?: number | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The number of matching posts in one bucket, of those in the counted part of the window. */
export interface CountedBucket {
  /** Epoch milliseconds of the bucket's start, floored to a multiple of its length. */
  readonly start: number;
  readonly count: number;
}

/** The counted buckets, and the part of the window that they cover. */
export interface CountsResult {
  /** Ascending, one for each bucket that the counted part overlaps, zeros included. */
  readonly buckets: readonly CountedBucket[];
  /**
   * The part of the window that was counted. If the deadline has passed, it ends before the end of the window, or
   * with `newestFirst` starts after its start, and its edge may be within a bucket.
   */
  readonly counted: Window;
}

/** Which posts a scan of an archive reads. */
export interface ScanOptions {
  /** Whether a post is read. Without it, every one is. */
  readonly wanted?: ((key: SortKey) => boolean) | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The posts of one segment, oldest first. */
export interface ScannedSegment {
  /** Epoch milliseconds of the segment's start. */
  readonly segment: number;
  readonly posts: readonly ArchivedPost[];
}

/**
 * Posts in order of time, all in one format, each id once. A window includes `from` and excludes `to`;
 * an empty window has no posts. An aborted call rejects with the signal's reason.
 */
export interface Archive {
  readonly format: Format;
  search(rule: ArchiveQuery, window: Window, options: SearchOptions): Promise<SearchResult>;
  counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    options?: CountsOptions,
  ): Promise<CountsResult>;
  /**
   * Every wanted post of a window by segment, oldest first, for jobs and replays. Skips empty segments.
   */
  scan(window: Window, options?: ScanOptions): AsyncIterable<ScannedSegment>;
  /**
   * The author with a handle, in any case, if the archive can find authors without a search.
   * `undefined` for an author who has not posted yet.
   */
  readonly author?: ((handle: string) => Author | undefined) | undefined;
  /** The post with an id, if the archive can find posts without a search. Others are searched by the time in their id. */
  readonly post?: ((id: string) => ArchivedPost | undefined) | undefined;
  /**
   * Nearly all retweets and replies follow a post within these milliseconds; absent where the archive
   * does not know.
   */
  readonly reactionsMs?: number | undefined;
  close(): Promise<void>;
}
