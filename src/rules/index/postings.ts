import { grown } from './shared-arrays.js';

/**
 * The rules indexed under each term: pairs of a rule and its second term, or -1, in one pool of
 * integers.
 */
export class Postings {
  readonly #pool = new IntPool();
  /** For each term, the start of its pairs and their number of integers. */
  lists: Int32Array = new Int32Array(2 << 10);

  get data(): Int32Array {
    return this.#pool.data;
  }

  add(term: number, rule: number, secondTerm: number): void {
    this.lists = grown(this.lists, 2 * (term + 1));
    const start = this.lists[2 * term]!;
    const length = this.lists[2 * term + 1]!;
    const at = this.#roomAt(term, start, length);
    this.#pool.data[at + length] = rule;
    this.#pool.data[at + length + 1] = secondTerm;
    this.lists[2 * term + 1] = length + 2;
  }

  /** Removes all pairs of a rule under a term. */
  remove(term: number, rule: number): void {
    const start = this.lists[2 * term]!;
    const length = this.lists[2 * term + 1]!;
    const { data } = this.#pool;
    let kept = 0;
    for (let at = start; at < start + length; at += 2) {
      if (data[at] === rule) continue;
      data[start + kept] = data[at]!;
      data[start + kept + 1] = data[at + 1]!;
      kept += 2;
    }
    this.lists[2 * term + 1] = kept;
    if (kept === 0) {
      if (length > 0) this.#pool.free(start, length);
    } else if (sizeOf(kept) < sizeOf(length)) this.#move(term, start, kept, length, kept);
  }

  /** The start of the list, which is moved if it has no space for another pair. */
  #roomAt(term: number, start: number, length: number): number {
    if (length > 0 && sizeOf(length + 2) === sizeOf(length)) return start;
    return this.#move(term, start, length, length, length + 2);
  }

  /** Moves the first integers of a list to a place with room for more or fewer; returns that place. */
  #move(term: number, start: number, kept: number, length: number, room: number): number {
    const moved = this.#pool.allocate(room);
    this.#pool.data.copyWithin(moved, start, start + kept);
    if (length > 0) this.#pool.free(start, length);
    this.lists[2 * term] = moved;
    return moved;
  }
}

/**
 * Many short lists of integers in one typed array, without an object for each. The space of a freed
 * list is reused for the next list of the same size. Sizes are powers of two.
 */
export class IntPool {
  data: Int32Array = new Int32Array(1 << 12);
  #end = 0;
  readonly #free: number[][] = [];

  /** The start of a free list of `sizeOf(length)` integers. */
  allocate(length: number): number {
    const size = sizeOf(length);
    const reused = this.#free[Math.log2(size)]?.pop();
    if (reused !== undefined) return reused;
    const start = this.#end;
    this.#end += size;
    this.data = grown(this.data, this.#end);
    return start;
  }

  free(start: number, length: number): void {
    const size = Math.log2(sizeOf(length));
    this.#free[size] ??= [];
    this.#free[size].push(start);
  }
}

/** The allocated size of a list of this length. */
export function sizeOf(length: number): number {
  return length <= 2 ? 2 : 2 ** Math.ceil(Math.log2(length));
}
