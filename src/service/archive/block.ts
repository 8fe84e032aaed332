import type { Window } from '../../base/time.js';
import type { Activity } from '../../post/activity.js';
import type { Position } from '../../post/post-fields.js';
import type { DocumentSet } from './document-set.js';

/**
 * The posts of a range of time, each with a document number: 0 is the newest, by time and then by
 * id. The block's index answers searches; `load` reads the posts themselves.
 */
export interface Block {
  readonly count: number;
  /** The time of a post: whole seconds, in epoch milliseconds. */
  timeAt(document: number): number;
  idAt(document: number): string;
  /** The documents with a search term (see `postTerms`), as a new set that the caller may change. */
  postings(term: string): DocumentSet;
  /** Data of the index besides its terms, where there is more. */
  readonly details?: BlockDetails | undefined;
  /** Reads posts, in the order of `documents`. */
  load(documents: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]>;
}

export interface BlockDetails {
  /** The occurrences of a word in these documents, of those that have it. */
  occurrences(term: string, among: DocumentSet): ReadonlyMap<number, readonly Occurrence[]>;
  /** The posts with a location, by ascending document number. */
  locations(): readonly PostLocation[];
}

export interface PostLocation {
  readonly document: number;
  readonly position: Position | undefined;
  /** Corners of the post's place; empty without one. */
  readonly corners: readonly Position[];
}

/** An archive as a series of blocks that do not overlap. */
export interface BlockStore {
  /** The ranges of the blocks that overlap a window, ascending, or with `newestFirst` descending. */
  within(window: Window, newestFirst?: boolean): Iterable<Window>;
  /** Opens the block of one of these ranges. */
  open(range: Window): Promise<Block>;
  close(): Promise<void>;
}

/**
 * The position of a word in a post: the number of one of the post's texts, times `TEXT_STRIDE`, plus
 * the index of the word in that text. A single number, because an index has many of them.
 */
export type Occurrence = number;

export const TEXT_STRIDE = 0x100_0000;

/** The kind of a text is its number modulo 4. */
export const TEXT = 0;
export const ADDRESS = 1;
export const DISPLAY = 2;
export const FIELD = 3;

export type TextKind = typeof TEXT | typeof ADDRESS | typeof DISPLAY | typeof FIELD;

export const textOf = (occurrence: Occurrence): number => Math.floor(occurrence / TEXT_STRIDE);
export const indexOf = (occurrence: Occurrence): number => occurrence % TEXT_STRIDE;
export const kindOf = (text: number): TextKind => (text % 4) as TextKind;
