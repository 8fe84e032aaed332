import type { Activity } from '../post/activity.js';
import { SHOWN_INTS, type ShownIds } from '../post/bytes/shown-ids.js';
import { POST_KEYS, type PostKey } from '../post/post-keys.js';

/**
 * Numbers for each post: where it is, its id in two halves, the index of its tags and keys, and how many rules it
 * matches.
 */
const COLUMNS = 7;
/** Numbers for each id in `shownIds`. */
export const ROW_ID_INTS = 1 + SHOWN_INTS;

/** The fields as they are sent from one thread to another; `numbers` and `shownIds` are transferred. */
type RowFieldsData = Pick<
  RowFields,
  | 'count'
  | 'numbers'
  | 'otherIds'
  | 'tagNames'
  | 'tagSets'
  | 'tagStarts'
  | 'keySets'
  | 'keyNames'
  | 'shownIds'
>;

/** Where posts are in their file. */
export type RowBounds = Pick<RowFields, 'starts' | 'lengths'>;

/** Fields of the posts of one file in columns, so that a thread can pass them on without an object each. */
export class RowFields {
  count: number;
  numbers: Uint32Array;
  starts!: Uint32Array;
  lengths!: Uint32Array;
  /** Halves of ids that are 64-bit integers; zero for those in `otherIds`. */
  highs!: Uint32Array;
  lows!: Uint32Array;
  readonly otherIds: Map<number, string>;
  /** For each post, the index of its combination of tags, and of its keys in `keySets`. */
  tags!: Uint32Array;
  keys!: Uint32Array;
  /** The number of rules that each post matches, where rules were matched. */
  matches!: Uint32Array;
  /** The distinct tags of the posts. */
  readonly tagNames: string[];
  /** Combinations of tags, one after the other, as indexes in `tagNames`; and where each starts, and the last ends. */
  tagSets: Uint32Array;
  tagStarts: Uint32Array;
  readonly keySets: (readonly (string | number)[])[];
  /** The keys that are read. */
  readonly keyNames: readonly PostKey[];
  /**
   * Where they are wanted, the ids of each post as `ShownIds` has them, in the order of the posts: the row, what it is of,
   * and two halves, in the first `shownCount` numbers.
   */
  shownIds: Uint32Array;
  shownCount: number;
  readonly #tagIndexes = new Map<string, number>();
  readonly #setIndexes = new Map<readonly string[], number>();
  #setCount: number;
  readonly #keyIndexes = new Map<string, number>();

  constructor(data: RowFieldsData) {
    this.count = data.count;
    this.numbers = data.numbers;
    this.#divide();
    this.otherIds = data.otherIds;
    this.tagNames = data.tagNames;
    this.tagSets = data.tagSets;
    this.tagStarts = data.tagStarts;
    this.#setCount = data.tagStarts.length - 1;
    this.keySets = data.keySets;
    this.keyNames = data.keyNames;
    this.shownIds = data.shownIds;
    this.shownCount = data.shownIds.length;
  }

  /** Empty columns for `size` posts, which grow where there are more. */
  static ofSize(size: number, keyNames: readonly PostKey[] = []): RowFields {
    return new RowFields({
      count: 0,
      numbers: new Uint32Array(size * COLUMNS),
      otherIds: new Map(),
      tagNames: [],
      tagSets: new Uint32Array(0),
      tagStarts: new Uint32Array(1),
      keySets: [],
      keyNames,
      shownIds: new Uint32Array(0),
    });
  }

  /** Adds a post and returns its row. */
  add(start: number, length: number): number {
    if (this.count === this.starts.length) this.#grow();
    this.starts[this.count] = start;
    this.lengths[this.count] = length;
    return this.count++;
  }

  setId(row: number, high: number, low: number): void {
    this.highs[row] = high;
    this.lows[row] = low;
  }

  /** @param tags Most posts share the arrays of few combinations. */
  setTags(row: number, tags: readonly string[]): void {
    let index = this.#setIndexes.get(tags);
    if (index === undefined) {
      index = this.addTags(tags.map(tag => this.tagIndex(tag)));
      this.#setIndexes.set(tags, index);
    }
    this.tags[row] = index;
  }

  /** The index of a tag in `tagNames`. */
  tagIndex(tag: string): number {
    let index = this.#tagIndexes.get(tag);
    if (index === undefined) {
      index = append(this.tagNames, tag);
      this.#tagIndexes.set(tag, index);
    }
    return index;
  }

  /** Adds a combination of tags, by their indexes, and returns its own index. */
  addTags(tags: readonly number[]): number {
    const start = this.tagStarts[this.#setCount]!;
    const end = start + tags.length;
    if (end > this.tagSets.length) this.tagSets = grown(this.tagSets, end);
    for (let at = 0; at < tags.length; at++) this.tagSets[start + at] = tags[at]!;
    if (this.#setCount + 2 > this.tagStarts.length)
      this.tagStarts = grown(this.tagStarts, this.#setCount + 2);
    this.tagStarts[this.#setCount + 1] = end;
    return this.#setCount++;
  }

  /** @throws DataError where the post lacks a key. */
  setKeysOf(row: number, activity: Activity): void {
    this.setKeys(
      row,
      this.keyNames.map(key => POST_KEYS[key](activity)),
    );
  }

  setKeys(row: number, keys: readonly (string | number)[]): void {
    const text = JSON.stringify(keys);
    let index = this.#keyIndexes.get(text);
    if (index === undefined) {
      index = append(this.keySets, keys);
      this.#keyIndexes.set(text, index);
    }
    this.keys[row] = index;
  }

  setShownIds(row: number, { numbers, length }: ShownIds): void {
    const size = (length / SHOWN_INTS) * ROW_ID_INTS;
    if (this.shownCount + size > this.shownIds.length)
      // Most posts share and quote no other: at first, there is room for two ids of each.
      this.shownIds = grown(
        this.shownIds,
        Math.max(this.shownCount + size, ROW_ID_INTS * this.starts.length),
      );
    for (let at = 0; at < length; ) {
      this.shownIds[this.shownCount++] = row;
      for (const end = at + SHOWN_INTS; at < end; at++)
        this.shownIds[this.shownCount++] = numbers[at]!;
    }
  }

  /** A copy of where the posts are in their file. */
  bounds(): RowBounds {
    return { starts: this.starts.slice(0, this.count), lengths: this.lengths.slice(0, this.count) };
  }

  data(): RowFieldsData {
    const { count, numbers, otherIds, tagNames, keySets, keyNames } = this;
    const shownIds = this.shownIds.subarray(0, this.shownCount);
    const tagStarts = this.tagStarts.slice(0, this.#setCount + 1);
    const tagSets = this.tagSets.slice(0, tagStarts[this.#setCount]);
    return {
      count,
      numbers,
      otherIds,
      tagNames,
      tagSets,
      tagStarts,
      keySets,
      keyNames,
      shownIds,
    };
  }

  #divide(): void {
    const { numbers } = this;
    const size = numbers.length / COLUMNS;
    const column = (index: number) => numbers.subarray(index * size, (index + 1) * size);
    this.starts = column(0);
    this.lengths = column(1);
    this.highs = column(2);
    this.lows = column(3);
    this.tags = column(4);
    this.keys = column(5);
    this.matches = column(6);
  }

  #grow(): void {
    const size = this.starts.length;
    const larger = 2 * size + 16;
    const numbers = new Uint32Array(larger * COLUMNS);
    for (let index = 0; index < COLUMNS; index++)
      numbers.set(this.numbers.subarray(index * size, (index + 1) * size), index * larger);
    this.numbers = numbers;
    this.#divide();
  }
}

/** A longer copy, with room for twice `length` numbers. */
function grown(list: Uint32Array, length: number): Uint32Array {
  const longer = new Uint32Array(2 * length + 62);
  longer.set(list);
  return longer;
}

/**
 * Returns the index of the item. `push` on the first, still empty list of a thread makes V8 discard the optimised
 * code of the scan with the second.
 */
function append<T>(list: T[], item: T): number {
  const index = list.length;
  list[index] = item;
  return index;
}
