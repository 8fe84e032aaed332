import type { ScalarType } from '../tables/column.js';
import { type ColumnValues, WIDTHS } from './row-block.js';

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
 * @param offsets Of strings.
 */
export function dictionaryOf(
  scalar: ScalarType,
  { count, data, lengths }: ColumnValues,
  offsets: Uint32Array | undefined,
): Dictionary | undefined {
  if (scalar === 'boolean' || count === 0) return undefined;
  const values = new Bytes(data, lengths, offsets, WIDTHS[scalar]);
  if (differs(values, count)) return undefined;
  const plainBytes = data.length + (offsets === undefined ? 0 : 4 * count);
  const indexes = new Uint32Array(count);
  // The first of each different value.
  let firsts = new Uint32Array(64);
  let different = 0;
  let differentBytes = 0;
  let slots = new Int32Array(256).fill(-1);
  let hashes = new Int32Array(64);
  for (let index = 0; index < count; index++) {
    const hash = values.hash(index);
    let slot = hash & (slots.length - 1);
    let found = slots[slot]!;
    while (found !== -1 && !(hashes[found] === hash && values.equal(firsts[found]!, index))) {
      slot = (slot + 1) & (slots.length - 1);
      found = slots[slot]!;
    }
    if (found === -1) {
      differentBytes += values.size(index);
      if (2 * differentBytes > plainBytes) return undefined;
      if (different === firsts.length) {
        firsts = grown(firsts, new Uint32Array(2 * different));
        hashes = grown(hashes, new Int32Array(2 * different));
      }
      found = different++;
      firsts[found] = index;
      hashes[found] = hash;
      slots[slot] = found;
      if (2 * different > slots.length) slots = rehashed(hashes, different, 4 * different);
    }
    indexes[index] = found;
  }
  const indexBytes = (count * (32 - Math.clz32(different - 1))) / 8;
  if (2 * (differentBytes + indexBytes) > plainBytes) return undefined;
  return { column: values.pick(firsts.subarray(0, different)), indexes };
}

function grown<T extends Uint32Array | Int32Array>(before: T, after: T): T {
  after.set(before);
  return after;
}

function rehashed(hashes: Int32Array, count: number, atLeast: number): Int32Array<ArrayBuffer> {
  let size = 256;
  while (size < atLeast) size *= 2;
  const slots = new Int32Array(size).fill(-1);
  for (let index = 0; index < count; index++) {
    let slot = hashes[index]! & (size - 1);
    while (slots[slot] !== -1) slot = (slot + 1) & (size - 1);
    slots[slot] = index;
  }
  return slots;
}

/** Whether most values of a sample over the whole column differ. */
function differs(values: Bytes, count: number): boolean {
  const size = Math.min(count, SAMPLE);
  const seen = new Set<number>();
  let [all, different] = [0, 0];
  for (let n = 0; n < size; n++) {
    const index = size === 1 ? 0 : Math.floor((n * (count - 1)) / (size - 1));
    const bytes = values.size(index);
    const hash = values.hash(index);
    all += bytes;
    if (!seen.has(hash)) different += bytes;
    seen.add(hash);
  }
  return different > MAX_SAMPLE_SHARE * all;
}

/** Values as bytes. */
class Bytes {
  readonly #data: Uint8Array;
  readonly #lengths: Uint32Array;
  readonly #offsets: Uint32Array | undefined;
  readonly #width: number;

  constructor(
    data: Uint8Array,
    lengths: Uint32Array,
    offsets: Uint32Array | undefined,
    width: number,
  ) {
    this.#data = data;
    this.#lengths = lengths;
    this.#offsets = offsets;
    this.#width = width;
  }

  /** In the encoding PLAIN. */
  size(index: number): number {
    return this.#offsets === undefined ? this.#width : 4 + this.#lengths[index]!;
  }

  hash(index: number): number {
    const data = this.#data;
    const start = this.#start(index);
    const end = start + this.#length(index);
    let hash = end - start;
    let at = start;
    for (; at + 4 <= end; at += 4) {
      const word = data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24);
      hash = Math.imul(hash ^ word, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; at < end; at++) hash = Math.imul(hash ^ data[at]!, 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  equal(a: number, b: number): boolean {
    const data = this.#data;
    const length = this.#length(a);
    if (length !== this.#length(b)) return false;
    const [from, to] = [this.#start(a), this.#start(b)];
    for (let byte = 0; byte < length; byte++)
      if (data[from + byte] !== data[to + byte]) return false;
    return true;
  }

  pick(indexes: Uint32Array): ColumnValues {
    const count = indexes.length;
    const lengths = new Uint32Array(this.#offsets === undefined ? 0 : count);
    let bytes = 0;
    for (let n = 0; n < count; n++) {
      const length = this.#length(indexes[n]!);
      if (lengths.length > 0) lengths[n] = length;
      bytes += length;
    }
    const data = new Uint8Array((bytes + 7) & ~7).subarray(0, bytes);
    let at = 0;
    for (let n = 0; n < count; n++) {
      const start = this.#start(indexes[n]!);
      const length = this.#length(indexes[n]!);
      for (let byte = 0; byte < length; byte++) data[at++] = this.#data[start + byte]!;
    }
    return { counts: new Uint32Array(0), count, lengths, data };
  }

  #start(index: number): number {
    return this.#offsets === undefined ? index * this.#width : this.#offsets[index]!;
  }

  #length(index: number): number {
    return this.#offsets === undefined ? this.#width : this.#lengths[index]!;
  }
}
