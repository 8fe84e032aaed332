import type { ScalarType } from '../tables/column.js';
import type { ColumnValues } from './row-block.js';

/** What readers skip a row group by: bounds of its values in the encoding PLAIN, and how many are missing. */
export interface Statistics {
  readonly nulls: number;
  readonly bounds:
    | {
        readonly min: Uint8Array;
        readonly max: Uint8Array;
        /** Whether they are values; long texts are shortened. */
        readonly isMinExact: boolean;
        readonly isMaxExact: boolean;
      }
    | undefined;
}

/** Of a text in the statistics. */
const MAX_BOUND_BYTES = 64;

export function statisticsOf(scalar: ScalarType, column: ColumnValues, nulls: number): Statistics {
  if (column.count === 0) return { nulls, bounds: undefined };
  return { nulls, bounds: scalar === 'string' ? textBounds(column) : exactBounds(scalar, column) };
}

function exactBounds(scalar: Exclude<ScalarType, 'string'>, { count, data }: ColumnValues) {
  const bytes = aligned(data);
  const { buffer, byteOffset } = bytes;
  const exact = { isMinExact: true, isMaxExact: true };
  switch (scalar) {
    case 'boolean': {
      const { min, max } = boundsOf(data, count);
      return { min: Uint8Array.of(min), max: Uint8Array.of(max), ...exact };
    }
    case 'int32': {
      const { min, max } = boundsOf(new Int32Array(buffer, byteOffset, count), count);
      return { min: bytesOf(Int32Array.of(min)), max: bytesOf(Int32Array.of(max)), ...exact };
    }
    case 'double': {
      const { min, max } = boundsOf(new Float64Array(buffer, byteOffset, count), count);
      // Readers may take the zeros for equal, or not.
      const [low, high] = [min === 0 ? -0 : min, max === 0 ? 0 : max];
      return { min: bytesOf(Float64Array.of(low)), max: bytesOf(Float64Array.of(high)), ...exact };
    }
    case 'int64':
    case 'timestamp': {
      const [min, max] = longBounds(new Int32Array(buffer, byteOffset, 2 * count), count);
      return {
        min: bytes.slice(8 * min, 8 * min + 8),
        max: bytes.slice(8 * max, 8 * max + 8),
        ...exact,
      };
    }
  }
}

/** Views of wider numbers begin at multiples of their width. */
function aligned(data: Uint8Array): Uint8Array {
  return data.byteOffset % 8 === 0 ? data : new Uint8Array(data);
}

function bytesOf({ buffer }: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(buffer);
}

function boundsOf(values: Uint8Array | Int32Array | Float64Array, count: number) {
  let min = values[0]!;
  let max = min;
  for (let index = 1; index < count; index++) {
    const value = values[index]!;
    if (value < min) min = value;
    else if (value > max) max = value;
  }
  return { min, max };
}

/** The indexes of the bounds, without a bigint for each value. */
function longBounds(halves: Int32Array, count: number): [number, number] {
  const isLess = (a: number, b: number) => {
    const [highA, highB] = [halves[2 * a + 1]!, halves[2 * b + 1]!];
    return highA === highB ? halves[2 * a]! >>> 0 < halves[2 * b]! >>> 0 : highA < highB;
  };
  let [min, max] = [0, 0];
  for (let index = 1; index < count; index++) {
    if (isLess(index, min)) min = index;
    else if (isLess(max, index)) max = index;
  }
  return [min, max];
}

function textBounds({ count, lengths, data }: ColumnValues): Statistics['bounds'] {
  let [minAt, minLength] = [0, lengths[0]!];
  let [maxAt, maxLength] = [0, lengths[0]!];
  let at = minLength;
  for (let index = 1; index < count; index++) {
    const length = lengths[index]!;
    if (isLess(data, at, length, minAt, minLength)) [minAt, minLength] = [at, length];
    else if (isLess(data, maxAt, maxLength, at, length)) [maxAt, maxLength] = [at, length];
    at += length;
  }
  const max = upperBound(data.slice(maxAt, maxAt + maxLength));
  if (max === undefined) return undefined;
  const min = data.slice(minAt, minAt + characterEnd(data.subarray(minAt, minAt + minLength)));
  return {
    min,
    max,
    isMinExact: min.length === minLength,
    isMaxExact: maxLength <= MAX_BOUND_BYTES,
  };
}

/** In the order of their bytes, which is that of code points. */
function isLess(data: Uint8Array, a: number, aLength: number, b: number, bLength: number): boolean {
  const length = Math.min(aLength, bLength);
  for (let byte = 0; byte < length; byte++) {
    const difference = data[a + byte]! - data[b + byte]!;
    if (difference !== 0) return difference < 0;
  }
  return aLength < bLength;
}

/** Where the last character within the limit ends. */
function characterEnd(text: Uint8Array): number {
  if (text.length <= MAX_BOUND_BYTES) return text.length;
  let end = MAX_BOUND_BYTES;
  // Bytes within a character begin with the bits 10.
  while ((text[end]! & 0xc0) === 0x80) end--;
  return end;
}

/** A text that is not less: where it has to be shortened, its last ASCII character is raised. */
function upperBound(text: Uint8Array): Uint8Array | undefined {
  if (text.length <= MAX_BOUND_BYTES) return text;
  for (let end = characterEnd(text); end > 0; end--) {
    const last = text[end - 1]!;
    if (last >= 0x7f) continue;
    const bound = text.slice(0, end);
    bound[end - 1] = last + 1;
    return bound;
  }
  return undefined;
}
