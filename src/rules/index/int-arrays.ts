export function sharedInts(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * length));
}

/** Returns the array itself if it is long enough, otherwise a copy of at least twice its length. */
export function grown(ints: Int32Array, length: number): Int32Array {
  if (length <= ints.length) return ints;
  const longer = new Int32Array(Math.max(length, 2 * ints.length));
  longer.set(ints);
  return longer;
}

export function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at);
  return units;
}

/** Returns a view of integers as UTF-16 code units. Each integer holds two units. */
export function unitsIn(ints: Int32Array): Uint16Array {
  return new Uint16Array(ints.buffer, ints.byteOffset, 2 * ints.length);
}

export function textIn(units: Uint16Array): string {
  let text = '';
  for (const unit of units) text += String.fromCharCode(unit);
  return text;
}

/**
 * Stores many short lists of integers in one typed array, without an object for each list. The size of each
 * list is rounded up to a power of two. After a list is freed, the next list of the same rounded size reuses
 * its space.
 */
export class IntPool {
  data: Int32Array = new Int32Array(1 << 12);
  #end = 0;
  readonly #free: number[][] = [];

  allocate(length: number): number {
    const size = allocatedSize(length);
    const reused = this.#free[Math.log2(size)]?.pop();
    if (reused !== undefined) return reused;
    const start = this.#end;
    this.#end += size;
    this.data = grown(this.data, this.#end);
    return start;
  }

  free(start: number, length: number): void {
    const size = Math.log2(allocatedSize(length));
    this.#free[size] ??= [];
    this.#free[size].push(start);
  }
}

export function allocatedSize(length: number): number {
  return length <= 2 ? 2 : 2 ** Math.ceil(Math.log2(length));
}
