import { grown } from './int-arrays.js';

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
