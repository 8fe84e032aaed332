import type { ScalarType } from '../tables/column.js';
import type { ColumnValues } from './row-block.js';

/** The different values of a column, and for each value the index of its equal. */
export interface Dictionary {
  readonly column: ColumnValues;
  readonly indexes: Uint32Array;
}

const SAMPLE = 1_000;
/** Of the bytes of a sample, those of different values: beyond it, no dictionary is tried. */
const MAX_SAMPLE_SHARE = 0.9;

/**
 * A dictionary of the values, where it and the indexes take at most half of what the values take.
 *
 * @param offsets Where each value begins in the data, and the last ends.
 */
export function dictionaryOf(
  scalar: ScalarType,
  { count, data }: ColumnValues,
  offsets: Uint32Array,
): Dictionary | undefined {
  if (scalar === 'boolean' || count === 0) return undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const lengthBytes = scalar === 'string' ? 4 : 0;
  if (differs(view, offsets, count, lengthBytes)) return undefined;
  const plainBytes = data.length + lengthBytes * count;
  const indexes = new Uint32Array(count);
  const values = new DifferentValues(view);
  if (!values.addAll(offsets, indexes, plainBytes / 2, lengthBytes)) return undefined;
  const bytes = values.bytes + lengthBytes * values.count;
  const indexBytes = (count * (32 - Math.clz32(values.count - 1))) / 8;
  if (2 * (bytes + indexBytes) > plainBytes) return undefined;
  return { column: values.column(data, scalar === 'string'), indexes };
}

/** Whether most values of a sample over the whole column differ. */
function differs(
  view: DataView,
  offsets: Uint32Array,
  count: number,
  lengthBytes: number,
): boolean {
  const size = Math.min(count, SAMPLE);
  const seen = new Set<number>();
  let [all, different] = [0, 0];
  for (let n = 0; n < size; n++) {
    const index = size === 1 ? 0 : Math.floor((n * (count - 1)) / (size - 1));
    const [start, end] = [offsets[index]!, offsets[index + 1]!];
    const hash = hashOf(view, start, end);
    const bytes = lengthBytes + end - start;
    all += bytes;
    if (!seen.has(hash)) different += bytes;
    seen.add(hash);
  }
  return different > MAX_SAMPLE_SHARE * all;
}

/** A table of the different ones among values, in the order in which they come. */
class DifferentValues {
  count = 0;
  /** Of the different values together. */
  bytes = 0;
  readonly #view: DataView;
  /** Of the first of each different value. */
  #starts = new Uint32Array(64);
  #lengths = new Uint32Array(64);
  #hashes = new Int32Array(64);
  /** One more than the index of a value, by its hash; 0 is none. */
  #slots = new Uint32Array(256);

  constructor(view: DataView) {
    this.#view = view;
  }

  /** Writes the index of each value; `false` once the different ones have more bytes than `maxBytes`. */
  addAll(
    offsets: Uint32Array,
    indexes: Uint32Array,
    maxBytes: number,
    lengthBytes: number,
  ): boolean {
    for (let index = 0; index < indexes.length; index++) {
      indexes[index] = this.#indexOf(offsets[index]!, offsets[index + 1]!);
      if (this.bytes + lengthBytes * this.count > maxBytes) return false;
    }
    return true;
  }

  /** The index of the value between two positions, which is added where it is new. */
  #indexOf(start: number, end: number): number {
    const hash = hashOf(this.#view, start, end);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let found = this.#slots[slot]!; found !== 0; found = this.#slots[slot]!) {
      if (this.#hashes[found - 1] === hash && this.#equals(found - 1, start, end)) return found - 1;
      slot = (slot + 1) & mask;
    }
    return this.#add(slot, hash, start, end);
  }

  /** The different values, as those of a column. */
  column(data: Uint8Array, isText: boolean): ColumnValues {
    const bytes = new Uint8Array((this.bytes + 7) & ~7).subarray(0, this.bytes);
    let at = 0;
    for (let index = 0; index < this.count; index++) {
      const start = this.#starts[index]!;
      const length = this.#lengths[index]!;
      for (let byte = 0; byte < length; byte++) bytes[at + byte] = data[start + byte]!;
      at += length;
    }
    return {
      counts: new Uint32Array(0),
      count: this.count,
      lengths: isText ? this.#lengths.slice(0, this.count) : new Uint32Array(0),
      data: bytes,
    };
  }

  #equals(index: number, start: number, end: number): boolean {
    const view = this.#view;
    if (this.#lengths[index] !== end - start) return false;
    let other = this.#starts[index]!;
    let at = start;
    for (; at + 4 <= end; at += 4, other += 4)
      if (view.getInt32(at, true) !== view.getInt32(other, true)) return false;
    for (; at < end; at++, other++) if (view.getUint8(at) !== view.getUint8(other)) return false;
    return true;
  }

  #add(slot: number, hash: number, start: number, end: number): number {
    const index = this.count++;
    if (index === this.#starts.length) {
      this.#starts = grown(this.#starts, new Uint32Array(2 * index));
      this.#lengths = grown(this.#lengths, new Uint32Array(2 * index));
      this.#hashes = grown(this.#hashes, new Int32Array(2 * index));
    }
    this.#starts[index] = start;
    this.#lengths[index] = end - start;
    this.#hashes[index] = hash;
    this.#slots[slot] = index + 1;
    this.bytes += end - start;
    if (2 * this.count > this.#slots.length) this.#rehash(2 * this.#slots.length);
    return index;
  }

  #rehash(size: number): void {
    const slots = new Uint32Array(size);
    for (let index = 0; index < this.count; index++) {
      let slot = this.#hashes[index]! & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = index + 1;
    }
    this.#slots = slots;
  }
}

function hashOf(view: DataView, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

function grown<T extends Uint32Array | Int32Array>(before: T, after: T): T {
  after.set(before);
  return after;
}
