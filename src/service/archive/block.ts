import type { Window } from '../../base/time.js';
import type { Activity } from '../../post/activity.js';
import type { Position } from '../../post/post-fields.js';

/**
 * The posts of a range of time. Each has a document number, where 0 is the newest post (by time, then by id).
 * The block's index answers searches; `load` reads the posts themselves.
 */
export interface Block {
  readonly count: number;
  /** The time of a post in epoch milliseconds, a multiple of 1,000. */
  timeAt(document: number): number;
  idAt(document: number): string;
  /** Returns the documents with a search term (see `postTerms`), as a new set that the caller may change. */
  postings(term: string): DocumentSet;
  /**
   * Index data besides the terms: the positions of words and the locations of posts. Absent if the block has
   * none.
   */
  readonly details?: BlockDetails | undefined;
  /** Reads posts, in the order of `documents`. */
  load(documents: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]>;
}

export interface BlockDetails {
  /**
   * Returns the occurrences of a word in the documents of `among`, by document number. Documents without the
   * word are absent.
   */
  occurrences(term: string, among: DocumentSet): ReadonlyMap<number, readonly Occurrence[]>;
  /** The posts with a location, by document number, ascending. */
  locations(): readonly PostLocation[];
}

export interface PostLocation {
  readonly document: number;
  readonly position: Position | undefined;
  /** The corners of the post's place; empty if the post has no place. */
  readonly corners: readonly Position[];
}

/** An archive as a series of blocks that do not overlap. */
export interface BlockStore {
  /**
   * Returns the time range of each block that overlaps a window. The oldest block comes first, or the newest
   * if `newestFirst` is true.
   */
  within(window: Window, newestFirst?: boolean): Iterable<Window>;
  open(range: Window): Promise<Block>;
  close(): Promise<void>;
}

/**
 * The position of a word in a post: the index of the string with the word, times `TEXT_STRIDE`, plus the
 * index of the word in that string. It is a single number, not an object, because an archive index stores
 * millions of positions.
 */
export type Occurrence = number;

const TEXT_STRIDE = 0x100_0000;

/** The kinds of strings in a post. The index of a string, modulo 4, is its kind. */
export const TEXT = 0;
export const ADDRESS = 1;
export const DISPLAY = 2;
export const FIELD = 3;

export type TextKind = typeof TEXT | typeof ADDRESS | typeof DISPLAY | typeof FIELD;

/** The index of a string among all strings of a post. `index` is its index among the strings of its kind. */
export const indexOfText = (index: number, kind: TextKind): number => 4 * index + kind;

export const occurrenceAt = (text: number, word: number): Occurrence => text * TEXT_STRIDE + word;

export const textNumberOf = (occurrence: Occurrence): number =>
  Math.floor(occurrence / TEXT_STRIDE);
export const wordIndexOf = (occurrence: Occurrence): number => occurrence % TEXT_STRIDE;
export const textKindOf = (text: number): TextKind => (text % 4) as TextKind;

/** A set of documents of one block, as a bit set. Bit `i` is document `i`, the `i`-th newest post. */
export class DocumentSet {
  readonly size: number;
  readonly #words: Uint32Array;

  constructor(size: number) {
    this.size = size;
    this.#words = new Uint32Array((size + 31) >>> 5);
  }

  static all(size: number): DocumentSet {
    const set = new DocumentSet(size);
    set.#words.fill(0xffff_ffff);
    set.#trim();
    return set;
  }

  add(document: number): void {
    this.#words[document >>> 5] = (this.#words[document >>> 5] as number) | (1 << (document & 31));
  }

  has(document: number): boolean {
    return ((this.#words[document >>> 5] as number) & (1 << (document & 31))) !== 0;
  }

  get isEmpty(): boolean {
    return this.#words.every(word => word === 0);
  }

  intersect(other: DocumentSet): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) & (words[i] as number);
  }

  unite(other: DocumentSet): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) | (words[i] as number);
  }

  invert(): void {
    for (let i = 0; i < this.#words.length; i++) this.#words[i] = ~(this.#words[i] as number);
    this.#trim();
  }

  count(start: number, end: number): number {
    if (start >= end) return 0;
    const first = start >>> 5;
    const last = (end - 1) >>> 5;
    const head = 0xffff_ffff << (start & 31);
    const tail = 0xffff_ffff >>> (31 - ((end - 1) & 31));
    if (first === last) return bits((this.#words[first] as number) & head & tail);
    let count = bits((this.#words[first] as number) & head);
    for (let i = first + 1; i < last; i++) count += bits(this.#words[i] as number);
    return count + bits((this.#words[last] as number) & tail);
  }

  /** Yields the members from `start` (inclusive) to `end` (exclusive), ascending. */
  *members(start: number, end: number): Generator<number> {
    for (let i = start >>> 5; i < this.#words.length; i++) {
      let word = this.#words[i] as number;
      while (word !== 0) {
        const document = i * 32 + (31 - Math.clz32(word & -word));
        if (document >= end) return;
        if (document >= start) yield document;
        word &= word - 1;
      }
    }
  }

  #trim(): void {
    const extra = this.size & 31;
    const last = this.#words.length - 1;
    if (extra !== 0) this.#words[last] = (this.#words[last] as number) & ((1 << extra) - 1);
  }
}

function bits(word: number): number {
  let n = word - ((word >>> 1) & 0x5555_5555);
  n = (n & 0x3333_3333) + ((n >>> 2) & 0x3333_3333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
