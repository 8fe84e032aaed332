import type { ThreadTask } from '../../files/record-columns.js';
import type { ColumnType, ScalarType } from '../column.js';
import { PAGE_CODECS, type ParquetCompression } from './page-codec.js';
import { type BlockColumn, readPart } from './row-block.js';
import { scalarOf } from './scalars.js';
import { boolean, i32, printThrift, struct } from './thrift.js';
import {
  type EncodedBounds,
  type EncodedDictionary,
  type EncodedPage,
  ValueEncoder,
} from './value-encoder.js';

/**
 * The statistics with which readers skip a row group: the number of nulls, and bounds of the values. The bounds
 * are in the encoding PLAIN.
 */
interface Statistics {
  readonly nulls: number;
  readonly bounds:
    | {
        readonly min: Uint8Array;
        readonly max: Uint8Array;
        /**
         * Whether the bound is itself a value of the column. Long strings are shortened to a bound that need
         * not be a value.
         */
        readonly isMinExact: boolean;
        readonly isMaxExact: boolean;
      }
    | undefined;
}

/** The encoded bytes of one column in a row group. */
export interface ColumnChunk {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
  /** The size of the pieces before compression, in bytes. */
  readonly plainBytes: number;
  /** The number of values, including nulls. An empty list counts as one value. */
  readonly values: number;
  readonly encodings: readonly number[];
  readonly hasDictionary: boolean;
  /** The position of the first data page, in bytes from the start of the first piece. */
  readonly dataAt: number;
  readonly dataPages: number;
  readonly statistics: Statistics | undefined;
}

/** Constants of the Parquet format, from `Encoding` and `PageType`. */
export const PLAIN = 0;
const RLE = 3;
const RLE_DICTIONARY = 8;
export const DICTIONARY_PAGE = 2;
export const DATA_PAGE_V2 = 3;

/**
 * A group of columns that one thread encodes. Each `RowBlock` stores the columns of a group in one of its
 * `parts`.
 */
export interface ColumnsToEncode {
  readonly types: readonly ColumnType[];
  /** For each `RowBlock` of the row group, the part that contains the columns of `types`. */
  readonly parts: readonly Uint8Array[];
  readonly compression: ParquetCompression;
}

let shared: ValueEncoder | undefined;

/** Encodes each column as a column chunk. @throws DataError if memory runs out. */
export function encodeChunks({ types, parts, compression }: ColumnsToEncode): ColumnChunk[] {
  shared ??= new ValueEncoder();
  const encoder = shared;
  const blocks = parts.map(part => readPart(types, part));
  return types.map((type, index) => {
    const columns = blocks.map(columns => columns[index]!);
    return encodeChunk(encoder, type, columns, compression);
  });
}

function encodeChunk(
  encoder: ValueEncoder,
  type: ColumnType,
  blocks: readonly BlockColumn[],
  compression: ParquetCompression,
): ColumnChunk {
  const scalar = scalarOf(type);
  const { compress } = PAGE_CODECS[compression];
  const pages = new PageWriter(page => compress?.(page, encoder));
  encoder.begin(type, blocks);
  const dictionary = encoder.dictionary();
  const hasDictionary = dictionary !== undefined;
  if (hasDictionary) pages.dictionary(dictionary);
  const dataAt = pages.length;
  let [values, nulls, dataPages] = [0, 0, 0];
  encoder.pages(page => {
    pages.data(page, hasDictionary ? RLE_DICTIONARY : PLAIN);
    values += page.levels;
    nulls += page.nulls;
    dataPages++;
  });
  return {
    pieces: pages.pieces,
    length: pages.length,
    plainBytes: pages.plainBytes,
    values,
    encodings: hasDictionary ? [PLAIN, RLE, RLE_DICTIONARY] : [PLAIN, RLE],
    hasDictionary,
    dataAt,
    dataPages,
    // Lists get no statistics. Readers use the minimum and the maximum of a column to skip row groups, but
    // never for the elements of lists.
    statistics: scalar === type ? statisticsOf(scalar, encoder.bounds(), nulls) : undefined,
  };
}

class PageWriter {
  plainBytes = 0;
  length = 0;
  /**
   * The pages, each as a separate piece. Joining them here would copy them again and take twice as much
   * memory.
   */
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  readonly #compress: (page: Uint8Array) => Uint8Array | undefined;

  constructor(compress: (page: Uint8Array) => Uint8Array | undefined) {
    this.#compress = compress;
  }

  dictionary({ count, values }: EncodedDictionary): void {
    const compressed = this.#compress(values) ?? values;
    const header = printThrift({
      1: i32(DICTIONARY_PAGE),
      2: i32(values.length),
      3: i32(compressed.length),
      7: struct({ 1: i32(count), 2: i32(PLAIN) }),
    });
    this.#append(header, values.length, [compressed]);
  }

  data({ rows, levels, nulls, repetition, definition, values }: EncodedPage, encoding: number) {
    const compressed = this.#compress(values);
    // If compression does not make a page smaller, the page is stored uncompressed, because readers read it
    // faster.
    const isCompressed = compressed !== undefined && compressed.length < values.length;
    const stored = isCompressed ? compressed : values;
    const levelBytes = repetition.length + definition.length;
    const header = printThrift({
      1: i32(DATA_PAGE_V2),
      2: i32(levelBytes + values.length),
      3: i32(levelBytes + stored.length),
      8: struct({
        1: i32(levels),
        2: i32(nulls),
        3: i32(rows),
        4: i32(encoding),
        5: i32(definition.length),
        6: i32(repetition.length),
        7: boolean(isCompressed),
      }),
    });
    this.#append(header, levelBytes + values.length, [repetition, definition, stored]);
  }

  /** Appends a piece. Copies the header and the parts into it, because their memory may be reused. */
  #append(header: Uint8Array, plainBytes: number, parts: readonly Uint8Array[]): void {
    this.plainBytes += header.length + plainBytes;
    const all = [header, ...parts];
    const piece = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of all) {
      piece.set(part, at);
      at += part.length;
    }
    this.length += piece.length;
    this.pieces.push(piece);
  }
}

/** The maximum length of a string in the statistics, in bytes. */
const MAX_BOUND_BYTES = 64;

function statisticsOf(
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
  // Readers disagree on whether 0 equals -0, so the bounds include both.
  return { ...exact, min: withZero(min, -0), max: withZero(max, 0) };
}

/** Returns the bytes of a double. If the double is 0 or -0, returns the bytes of `zero` instead. */
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

/** Returns the end of the last character that is completely within the maximum length. */
function characterEnd(text: Uint8Array): number {
  if (text.length <= MAX_BOUND_BYTES) return text.length;
  let end = MAX_BOUND_BYTES;
  // Every byte of a UTF-8 character except the first starts with the bits 10.
  while ((text[end]! & 0xc0) === 0x80) end--;
  return end;
}

/**
 * Returns a string that is greater than or equal to the given one. If the string must be shortened, its last
 * ASCII character is incremented. Returns `undefined` if there is no such character.
 */
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

export const ENCODE_CHUNKS: ThreadTask<ColumnsToEncode, readonly ColumnChunk[]> = {
  name: 'encodeChunks',
  run: encodeChunks,
  given: ({ parts }) => parts,
  made: chunks => chunks.flatMap(({ pieces }) => pieces),
};
