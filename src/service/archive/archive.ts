import type { Activity, Author, Format } from '../../activity/activity.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Window } from '../../time.js';

/** Where a post stands in an archive: newest first, by time and then by id. */
export interface Place {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Digits only; ids compare as bigint. */
  readonly id: string;
}

/** A post and its place. The activity has no `matching_rules` where the archive stores none. */
export interface ArchivedPost extends Place {
  readonly activity: Activity;
}

/** One rule, twice: its tree, from which an index takes what it can, and its exact meaning. */
export interface ArchiveQuery {
  readonly tree: RuleNode;
  matches(activity: Activity): boolean;
}

export interface SearchOptions {
  /** The most posts that one answer holds. */
  readonly limit: number;
  /** Only posts strictly older than this place: that of the last post delivered. */
  readonly after?: Place | undefined;
  /** The instant as of which posts can be seen, for archives from which posts disappear. */
  readonly asOf?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchAnswer {
  /** Newest first. */
  readonly posts: readonly ArchivedPost[];
  /** Whether the window holds at least one more match. */
  readonly more: boolean;
}

export interface CountsOptions {
  /** Real milliseconds after which counting stops, at whole buckets and after at least one. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CountedBucket {
  /** Epoch milliseconds of the bucket's start, floored to a multiple of its length. */
  readonly start: number;
  readonly count: number;
}

export interface CountsAnswer {
  /** Ascending, one for every bucket that the window touches, zeroes included. */
  readonly buckets: readonly CountedBucket[];
  /** How far the counts are complete: the window's end, or earlier where the time was over. */
  readonly reached: number;
}

/** The posts of one segment, oldest first. */
export interface ScannedSegment {
  /** Epoch milliseconds of the segment's start. */
  readonly segment: number;
  readonly posts: readonly ArchivedPost[];
}

/**
 * Posts in order of time, all in one format. The same post, by id, is served once. Windows count from
 * `from`, inclusive, to `to`, exclusive; an empty window holds nothing. An aborted call rejects with
 * the signal's reason.
 */
export interface Archive {
  readonly format: Format;
  search(rule: ArchiveQuery, window: Window, options: SearchOptions): Promise<SearchAnswer>;
  counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    options?: CountsOptions,
  ): Promise<CountsAnswer>;
  /** Every post of a window by segment, oldest first: what jobs and replays read. Segments without posts are left out. */
  scan(
    window: Window,
    options?: { readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<ScannedSegment>;
  /**
   * Who writes under a handle, whatever its case, in an archive that knows without a search. It is no
   * one who wrote nothing until now.
   */
  readonly author?: ((handle: string) => Author | undefined) | undefined;
  /** Milliseconds after a post for which it pays to look for reposts and replies, where the archive knows. */
  readonly reactionsMs?: number | undefined;
  close(): Promise<void>;
}
