import type { ScalarType } from '../tables/column.js';
import type { EncodedBounds } from './value-encoder.js';

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

export function statisticsOf(
  scalar: ScalarType,
  bounds: EncodedBounds | undefined,
  nulls: number,
): Statistics {
  if (bounds === undefined) return { nulls, bounds: undefined };
  return { nulls, bounds: scalar === 'string' ? textBounds(bounds) : exactBounds(scalar, bounds) };
}

function exactBounds(scalar: ScalarType, { min, max }: EncodedBounds): Statistics['bounds'] {
  const exact = { min, max, isMinExact: true, isMaxExact: true };
  if (scalar !== 'double') return exact;
  // Readers may take the zeros for equal, or not.
  return { ...exact, min: withZero(min, -0), max: withZero(max, 0) };
}

/** A double, or this zero in the place of either. */
function withZero(bytes: Uint8Array, zero: number): Uint8Array {
  const [number] = new Float64Array(bytes.buffer);
  return number === 0 ? new Uint8Array(Float64Array.of(zero).buffer) : bytes;
}

function textBounds({ min, max }: EncodedBounds): Statistics['bounds'] {
  const upper = upperBound(max);
  if (upper === undefined) return undefined;
  return {
    min: min.subarray(0, characterEnd(min)),
    max: upper,
    isMinExact: min.length <= MAX_BOUND_BYTES,
    isMaxExact: max.length <= MAX_BOUND_BYTES,
  };
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
