import type { Activity } from '../../activity/activity.js';
import type { Position } from '../../activity/post-fields.js';
import type { Window } from '../../time.js';
import type { Occurrence } from './occurrences.js';
import type { Ordinals } from './ordinals.js';

/**
 * The posts of a stretch of time under ordinals: 0 is the newest, by time and then by id. What a
 * search needs is answered from the block's index; posts are only read when they are wanted.
 */
export interface Block {
  readonly count: number;
  /** When a post was made, as its format tells it: whole seconds, in epoch milliseconds. */
  timeAt(ordinal: number): number;
  idAt(ordinal: number): string;
  /** Posts that have a term of search (`postTerms`). The set is the caller's to change. */
  postings(term: string): Ordinals;
  /** What the index knows beyond terms, where it does. */
  readonly details?: BlockDetails | undefined;
  /** In the order asked for. */
  load(ordinals: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]>;
}

export interface BlockDetails {
  /** Where a word stands in posts. */
  occurrences(term: string): WordOccurrences;
  /** The posts that say where they were written, by ascending ordinals. */
  spots(): Iterable<Spot>;
}

/** The occurrences of a word, post by post. */
export interface WordOccurrences {
  /** Those in a post; to be asked for ascending ordinals. */
  in(ordinal: number): readonly Occurrence[];
}

export interface Spot {
  readonly ordinal: number;
  readonly position: Position | undefined;
  /** Of a place; empty where the post has none. */
  readonly corners: readonly Position[];
}

/** An archive cut into blocks that follow each other without overlap. */
export interface Blocks {
  /** The stretches of time with posts that touch a window, ascending. */
  within(window: Window): Iterable<Window>;
  /** One of them. */
  open(stretch: Window): Promise<Block>;
  close(): Promise<void>;
}
