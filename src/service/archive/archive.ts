import type { Window } from '../../base/time.js';
import type { Activity, Author, Format } from '../../post/activity.js';
import type { RuleNode } from '../../rules/tree.js';

/** The key by which an archive sorts posts, newest first: by time, then by id. */
export interface SortKey {
  /** The time in epoch milliseconds. */
  readonly at: number;
  /** The id, as digits. Ids are compared as bigint. */
  readonly id: string;
}

export function newestFirst(a: SortKey, b: SortKey): number {
  if (a.at !== b.at) return b.at - a.at;
  const [idOfA, idOfB] = [BigInt(a.id), BigInt(b.id)];
  return idOfA === idOfB ? 0 : idOfA < idOfB ? 1 : -1;
}

/** A post with its sort key. The activity has `matching_rules` only if the archive stores them. */
export interface ArchivedPost extends SortKey {
  readonly activity: Activity;
}

/**
 * A rule in two forms. The index evaluates the tree. If the index cannot decide whether a post matches,
 * `matches` tests the post.
 */
export interface ArchiveQuery {
  readonly tree: RuleNode;
  matches(activity: Activity): boolean;
}

/** Options of a search in an archive: where it starts, and when it stops. */
export interface SearchOptions {
  /** The maximum number of posts in the result. */
  readonly limit: number;
  /** The key of the last delivered post. Only posts that sort after it are searched. */
  readonly after?: SortKey | undefined;
  /**
   * A time in epoch milliseconds. Searches the archive as it was at this time, including posts that were
   * deleted later.
   */
  readonly asOf?: number | undefined;
  /**
   * The time limit in milliseconds of real time. When it has passed, the search stops and returns the posts
   * found so far. Each search makes at least some progress.
   */
  readonly deadlineMs?: number | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a search in an archive: the posts, and whether there are more. */
export interface SearchResult {
  /** The posts, newest first. */
  readonly posts: readonly ArchivedPost[];
  /** Whether the window has at least one more match. */
  readonly more: boolean;
  /** Set if the search has stopped at the deadline: posts that sort after this key were not searched. */
  readonly reached?: SortKey | undefined;
}

/** Options of `Archive.counts`: in which order it counts, and when it stops early. */
export interface CountsOptions {
  /**
   * Whether to count backwards from the end of the window. An incomplete count then covers the newest posts.
   */
  readonly newestFirst?: boolean | undefined;
  /** The time limit in milliseconds of real time. When it has passed, counting stops, even inside a bucket. */
  readonly deadlineMs?: number | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The number of matching posts in one bucket. If only a part of the bucket was counted, the number covers only
 * that part.
 */
export interface CountedBucket {
  /** The start of the bucket in epoch milliseconds, a multiple of its length. */
  readonly start: number;
  readonly count: number;
}

/** The counted buckets, and the part of the window that they cover. */
export interface CountsResult {
  /** Every bucket that the counted part overlaps, including empty buckets, in ascending order. */
  readonly buckets: readonly CountedBucket[];
  /**
   * The part of the window that was counted. If the time limit stops the count, the part lacks the end of the
   * window, or its start if `newestFirst` is set. The part may then start or end inside a bucket.
   */
  readonly counted: Window;
}

/** Options of `Archive.scan`: which posts to read, and a signal that ends the call. */
export interface ScanOptions {
  /** Returns whether to read a post. If absent, all posts are read. */
  readonly wanted?: ((key: SortKey) => boolean) | undefined;
  /** Ends the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The posts of one segment, which is 10 minutes, oldest first. */
export interface ScannedSegment {
  /** The start of the segment in epoch milliseconds. */
  readonly segment: number;
  readonly posts: readonly ArchivedPost[];
}

/**
 * Posts in chronological order, all in one format, without duplicate ids. A window includes `from` and
 * excludes `to`; an empty window has no posts. An aborted call rejects with the signal's reason.
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
   * Yields the wanted posts of a window in segments of 10 minutes, oldest first, for jobs and replays. Skips
   * empty segments.
   */
  scan(window: Window, options?: ScanOptions): AsyncIterable<ScannedSegment>;
  /**
   * Returns the author with a handle, ignoring case; `undefined` if the author has not posted yet. Archives
   * that can find authors only by a search lack this method.
   */
  readonly author?: ((handle: string) => Author | undefined) | undefined;
  /**
   * Returns the post with an id. Archives that can find posts only by a search lack this method. The caller
   * then searches around the time that the id contains.
   */
  readonly post?: ((id: string) => ArchivedPost | undefined) | undefined;
  /** Nearly all retweets and replies follow a post within this time, in milliseconds. Absent if unknown. */
  readonly reactionsMs?: number | undefined;
  close(): Promise<void>;
}
