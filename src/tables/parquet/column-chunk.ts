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

/** What readers skip a row group by: bounds of its values in the encoding PLAIN, and how many are missing. */
interface Statistics {
  readonly nulls: number;
  readonly bounds:
    | {
        readonly min: Uint8Array;
        readonly max: Uint8Array;
        /** Whether the bound is a value of the column: long strings are shortened. */
        readonly isMinExact: boolean;
        readonly isMaxExact: boolean;
      }
    | undefined;
}

/** The bytes of a column of a row group in a file. Its offsets count from the start of its pieces, joined. */
export interface ColumnChunk {
  readonly pieces: readonly Uint8Array[];
  /** The total length of the pieces. */
  readonly length: number;
  /** The size without compression. */
  readonly plainBytes: number;
  /** Values and nulls; an empty list is one. */
  readonly values: number;
  readonly encodings: readonly number[];
  readonly hasDictionary: boolean;
  /** The offset of the first data page, after the dictionary. */
  readonly dataAt: number;
  readonly dataPages: number;
  readonly statistics: Statistics | undefined;
}

/** Numbers of the format: `Encoding` and `PageType`. */
export const PLAIN = 0;
const RLE = 3;
const RLE_DICTIONARY = 8;
export const DICTIONARY_PAGE = 2;
export const DATA_PAGE_V2 = 3;

/** The columns of a row group that are in the same part of its blocks. */
export interface ColumnsToEncode {
  readonly types: readonly ColumnType[];
  /** The part of each block, in their order. */
  readonly parts: readonly Uint8Array[];
  readonly compression: ParquetCompression;
}

/** One for a thread. */
let shared: ValueEncoder | undefined;

/** @throws DataError if memory runs out. */
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
    // Readers skip row groups by the minimum and maximum of a column, but never for list elements.
    statistics: scalar === type ? statisticsOf(scalar, encoder.bounds(), nulls) : undefined,
  };
}

/** The pages of a chunk. */
class PageWriter {
  plainBytes = 0;
  length = 0;
  /** A piece a page: joined here, they would be copied once more, and take twice the memory. */
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
    // Readers need not decompress what would not become smaller.
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

  /** The parts may have memory that is used again. */
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

/** The longest string in the statistics. */
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

/** The end of the last character within the limit. */
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

/** Encodes columns in a thread. */
export const ENCODE_CHUNKS: ThreadTask<ColumnsToEncode, readonly ColumnChunk[]> = {
  name: 'encodeChunks',
  run: encodeChunks,
  given: ({ parts }) => parts,
  made: chunks => chunks.flatMap(({ pieces }) => pieces),
};
