import { grown } from './int-arrays.js';
import { IntPool, sizeOf } from './int-pool.js';

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
    const length = this.lists[2 * term + 1]!;
    const hasRoom = length > 0 && sizeOf(length + 2) === sizeOf(length);
    if (!hasRoom) this.#move(term, length, length + 2);
    const end = this.lists[2 * term]! + length;
    this.#pool.data[end] = rule;
    this.#pool.data[end + 1] = secondTerm;
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
    if (kept === 0) {
      if (length > 0) this.#pool.free(start, length);
    } else if (sizeOf(kept) < sizeOf(length)) this.#move(term, kept, kept);
    this.lists[2 * term + 1] = kept;
  }

  /** Moves the first integers of the list of a term to a place with room for more, or for fewer. */
  #move(term: number, kept: number, room: number): void {
    const start = this.lists[2 * term]!;
    const length = this.lists[2 * term + 1]!;
    const moved = this.#pool.allocate(room);
    this.#pool.data.copyWithin(moved, start, start + kept);
    if (length > 0) this.#pool.free(start, length);
    this.lists[2 * term] = moved;
  }
}
