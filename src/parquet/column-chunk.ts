import { releaseMemory } from '../gzip/release-memory.js';
import type { ColumnType, ScalarType } from '../tables/column.js';
import { ByteWriter } from './byte-writer.js';
import { dictionaryOf } from './dictionary.js';
import { PAGE_CODECS, type ParquetCompression } from './page-codec.js';
import { type ColumnValues, readPart, scalarOf, WIDTHS } from './row-block.js';
import { type Statistics, statisticsOf } from './statistics.js';
import { boolean, i32, printThrift, struct } from './thrift.js';

/** A column of a row group, as it is in a file. Its offsets are within its pieces, one behind the other. */
export interface ColumnChunk {
  readonly pieces: readonly Uint8Array[];
  /** Of the pieces together. */
  readonly length: number;
  /** The size without compression. */
  readonly plainBytes: number;
  /** Values and nulls; an empty list is one. */
  readonly values: number;
  readonly encodings: readonly number[];
  readonly hasDictionary: boolean;
  /** Where the first data page begins: behind the dictionary. */
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

/** Values of a page before compression. Readers hold a page as a whole. */
const PAGE_BYTES = 1 << 20;
/** Of a text in the encoding PLAIN, before its bytes. */
const LENGTH_BYTES = 4;

/** Encodes the columns of the same part of successive blocks. */
export function encodeChunks(
  types: readonly ColumnType[],
  parts: readonly Uint8Array[],
  compression: ParquetCompression,
): ColumnChunk[] {
  const blocks = parts.map(part => readPart(types, part));
  return types.map((type, index) => {
    const columns = blocks.map(columns => columns[index]!);
    const column = joined(type, columns);
    const chunk = encodeChunk(type, column, compression);
    if (column !== columns[0]) releaseMemory(column.data);
    return chunk;
  });
}

function encodeChunk(
  type: ColumnType,
  column: ColumnValues,
  compression: ParquetCompression,
): ColumnChunk {
  const scalar = scalarOf(type);
  const isList = scalar !== type;
  const pages = new PageWriter(compression);
  const offsets = offsetsOf(scalar, column);
  const dictionary = dictionaryOf(scalar, column, offsets);
  if (dictionary !== undefined)
    pages.dictionary(
      plainValues(
        scalar,
        dictionary.column,
        offsetsOf(scalar, dictionary.column),
        0,
        dictionary.column.count,
      ),
      dictionary.column.count,
    );
  const dataAt = pages.length;
  const bitWidth = dictionary && bitsOf(dictionary.column.count - 1);
  const lengthBytes = scalar === 'string' ? LENGTH_BYTES : 0;
  const bytesOf =
    dictionary === undefined
      ? (from: number, to: number) => offsets[to]! - offsets[from]! + lengthBytes * (to - from)
      : (from: number, to: number) => 2 * (to - from);
  let values = 0;
  let dataPages = 0;
  const { counts } = column;
  // Where the page begins: a row, and its first value.
  let [row, from] = [0, 0];
  while (row < counts.length) {
    const page = endOfPage(column, row, from, bytesOf);
    const { to } = page;
    let encoded: Uint8Array;
    if (dictionary === undefined) encoded = plainValues(scalar, column, offsets, from, to);
    else {
      const out = new ByteWriter(1024 + (((to - from) * bitWidth!) >>> 3));
      out.byte(bitWidth!);
      appendRuns(out, dictionary.indexes, from, to, bitWidth!);
      encoded = out.bytes;
    }
    const levels = levelsOf(counts.subarray(row, page.toRow), isList);
    pages.data(encoded, levels, dictionary === undefined ? PLAIN : RLE_DICTIONARY);
    values += levels.values;
    dataPages++;
    [row, from] = [page.toRow, to];
  }
  return {
    pieces: pages.pieces,
    length: pages.length,
    plainBytes: pages.plainBytes,
    values,
    encodings: dictionary === undefined ? [PLAIN, RLE] : [PLAIN, RLE, RLE_DICTIONARY],
    hasDictionary: dictionary !== undefined,
    dataAt,
    dataPages,
    // Readers skip row groups by their minimum and maximum; those of list elements are never used.
    statistics: isList
      ? undefined
      : statisticsOf(scalar, dictionary?.column ?? column, column.counts.length - column.count),
  };
}

function joined(type: ColumnType, blocks: readonly ColumnValues[]): ColumnValues {
  const [only] = blocks;
  if (only !== undefined && blocks.length === 1) return only;
  const rows = blocks.reduce((sum, { counts }) => sum + counts.length, 0);
  const count = blocks.reduce((sum, block) => sum + block.count, 0);
  const bytes = blocks.reduce((sum, { data }) => sum + data.length, 0);
  const counts = new Uint32Array(rows);
  const lengths = new Uint32Array(scalarOf(type) === 'string' ? count : 0);
  // A multiple of eight, for views of wider numbers.
  const data = new Uint8Array((bytes + 7) & ~7).subarray(0, bytes);
  let [row, value, at] = [0, 0, 0];
  for (const block of blocks) {
    counts.set(block.counts, row);
    if (lengths.length > 0) lengths.set(block.lengths, value);
    data.set(block.data, at);
    row += block.counts.length;
    value += block.count;
    at += block.data.length;
  }
  return { counts, count, lengths, data };
}

/** Where each value begins in the data, and the last ends. */
function offsetsOf(scalar: ScalarType, { lengths, count }: ColumnValues): Uint32Array {
  const offsets = new Uint32Array(count + 1);
  const width = WIDTHS[scalar];
  for (let index = 0; index < count; index++)
    offsets[index + 1] = offsets[index]! + (width === 0 ? lengths[index]! : width);
  return offsets;
}

/**
 * Where a page ends that begins with a row: with another row, and before a value.
 *
 * @param bytesOf Of the values between two in the page.
 */
function endOfPage(
  { counts, count }: ColumnValues,
  fromRow: number,
  from: number,
  bytesOf: (from: number, to: number) => number,
) {
  // The last page of a column, and the only one of most.
  if (bytesOf(from, count) + counts.length - fromRow < PAGE_BYTES)
    return { to: count, toRow: counts.length };
  let [to, toRow] = [from, fromRow];
  // Nulls take little, but readers hold levels of a page, too.
  while (toRow < counts.length && bytesOf(from, to) + toRow - fromRow < PAGE_BYTES)
    to += Math.max(0, counts[toRow++]! - 1);
  return { to, toRow };
}

/** Larger ones are dictionaries, and pages with a value as large: their memory is not kept. */
const MAX_REUSED_BYTES = 2 * PAGE_BYTES;
const reused = new ByteWriter();

/** Values in the encoding PLAIN, valid until the next call: new memory for each page costs much. */
function plainValues(
  scalar: ScalarType,
  column: ColumnValues,
  offsets: Uint32Array,
  from: number,
  to: number,
): Uint8Array {
  if (scalar === 'string') return plainTexts(column, offsets, from, to);
  if (scalar === 'boolean') return packedBits(column.data, from, to);
  return column.data.subarray(offsets[from], offsets[to]);
}

function plainTexts(
  { data, lengths }: ColumnValues,
  offsets: Uint32Array,
  from: number,
  to: number,
): Uint8Array {
  const size = offsets[to]! - offsets[from]! + LENGTH_BYTES * (to - from);
  const out = size > MAX_REUSED_BYTES ? Buffer.allocUnsafeSlow(size) : reused.reserve(size);
  let at = 0;
  for (let index = from; index < to; index++) {
    const length = lengths[index]!;
    out[at] = length;
    out[at + 1] = length >>> 8;
    out[at + 2] = length >>> 16;
    out[at + 3] = length >>> 24;
    at += 4;
    const start = offsets[index]!;
    if (length < 64) for (let byte = 0; byte < length; byte++) out[at + byte] = data[start + byte]!;
    else out.set(data.subarray(start, start + length), at);
    at += length;
  }
  return out.subarray(0, at);
}

function packedBits(data: Uint8Array, from: number, to: number): Uint8Array {
  const out = new Uint8Array((to - from + 7) >>> 3);
  for (let index = from; index < to; index++)
    if (data[index] === 1) out[(index - from) >>> 3]! |= 1 << ((index - from) & 7);
  return out;
}

interface Levels {
  readonly rows: number;
  readonly values: number;
  readonly nulls: number;
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
}

const NONE = new Uint8Array(0);

/** Which rows have values, and of lists, which values begin one. */
function levelsOf(counts: Uint32Array, isList: boolean): Levels {
  const rows = counts.length;
  if (!isList) {
    let nulls = 0;
    const definition = new Uint32Array(rows);
    for (let row = 0; row < rows; row++)
      if (counts[row] === 0) nulls++;
      else definition[row] = 1;
    return { rows, values: rows, nulls, repetition: NONE, definition: runsOf(definition, 1) };
  }
  let values = 0;
  for (let row = 0; row < rows; row++) values += Math.max(1, counts[row]! - 1);
  const definition = new Uint32Array(values);
  const repetition = new Uint32Array(values);
  let at = 0;
  let nulls = 0;
  for (let row = 0; row < rows; row++) {
    const count = counts[row]!;
    if (count < 2) {
      definition[at++] = count;
      nulls++;
    } else
      for (let element = 1; element < count; element++) {
        definition[at] = 2;
        repetition[at++] = element === 1 ? 0 : 1;
      }
  }
  return {
    rows,
    values,
    nulls,
    repetition: runsOf(repetition, 1),
    definition: runsOf(definition, 2),
  };
}

function runsOf(values: Uint32Array, bitWidth: number): Uint8Array {
  const out = new ByteWriter(64 + (values.length >>> 2));
  appendRuns(out, values, 0, values.length, bitWidth);
  return out.bytes;
}

/** Numbers as runs of equal ones, and packed bits where there are none: the hybrid encoding of the format. */
function appendRuns(
  out: ByteWriter,
  values: Uint32Array,
  from: number,
  to: number,
  bitWidth: number,
): void {
  let packed = from;
  let at = from;
  while (at < to) {
    const value = values[at]!;
    let end = at + 1;
    while (end < to && values[end] === value) end++;
    if (end - at < 8) {
      // Bits are packed in groups of eight values.
      at = Math.min(to, at + 8);
      continue;
    }
    appendPacked(out, values, packed, at, bitWidth);
    out.varint(2 * (end - at));
    for (let shift = 0; shift < bitWidth; shift += 8) out.byte((value >>> shift) & 0xff);
    at = end;
    packed = end;
  }
  appendPacked(out, values, packed, to, bitWidth);
}

function appendPacked(
  out: ByteWriter,
  values: Uint32Array,
  from: number,
  to: number,
  bitWidth: number,
): void {
  if (from === to) return;
  const groups = (to - from + 7) >>> 3;
  out.varint(2 * groups + 1);
  const end = out.length + groups * bitWidth;
  // The last four bytes may go beyond the end.
  const bytes = out.reserve(groups * bitWidth + 4);
  let at = out.length;
  let bits = 0;
  let used = 0;
  for (let index = from; index < from + 8 * groups; index++) {
    const value = index < to ? values[index]! : 0;
    bits |= value << used;
    used += bitWidth;
    if (used >= 32) {
      putWord(bytes, at, bits);
      at += 4;
      used -= 32;
      // What did not fit; a shift by 32 would be one by none.
      bits = used === 0 ? 0 : value >>> (bitWidth - used);
    }
  }
  putWord(bytes, at, bits);
  out.length = end;
}

function putWord(bytes: Buffer, at: number, bits: number): void {
  bytes[at] = bits;
  bytes[at + 1] = bits >>> 8;
  bytes[at + 2] = bits >>> 16;
  bytes[at + 3] = bits >>> 24;
}

/** How many bits a number takes. */
function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}

/** The pages of a chunk. */
class PageWriter {
  plainBytes = 0;
  length = 0;
  /** A piece a page: joined here, they would be copied once more, and take twice the memory. */
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  readonly #compression: ParquetCompression;

  constructor(compression: ParquetCompression) {
    this.#compression = compression;
  }

  dictionary(values: Uint8Array, count: number): void {
    const compressed = this.#compressed(values) ?? values;
    const header = printThrift({
      1: i32(DICTIONARY_PAGE),
      2: i32(values.length),
      3: i32(compressed.length),
      7: struct({ 1: i32(count), 2: i32(PLAIN) }),
    });
    this.#append(header, values.length, [compressed]);
  }

  data(values: Uint8Array, levels: Levels, encoding: number): void {
    const { repetition, definition } = levels;
    const compressed = this.#compressed(values);
    // Readers need not decompress what would not become smaller.
    const isCompressed = compressed !== undefined && compressed.length < values.length;
    const stored = isCompressed ? compressed : values;
    const levelBytes = repetition.length + definition.length;
    const header = printThrift({
      1: i32(DATA_PAGE_V2),
      2: i32(levelBytes + values.length),
      3: i32(levelBytes + stored.length),
      8: struct({
        1: i32(levels.values),
        2: i32(levels.nulls),
        3: i32(levels.rows),
        4: i32(encoding),
        5: i32(definition.length),
        6: i32(repetition.length),
        7: boolean(isCompressed),
      }),
    });
    this.#append(header, levelBytes + values.length, [repetition, definition, stored]);
  }

  #compressed(values: Uint8Array): Uint8Array | undefined {
    return PAGE_CODECS[this.#compression].compress?.(values);
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
