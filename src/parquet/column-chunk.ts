import { releaseMemory } from '../gzip/release-memory.js';
import type { ColumnType, ScalarType } from '../tables/column.js';
import { ByteWriter } from './byte-writer.js';
import { dictionaryOf } from './dictionary.js';
import { PAGE_CODECS, type ParquetCompression } from './page-codec.js';
import { type ColumnValues, readPart, scalarOf, WIDTHS } from './row-block.js';
import { type Statistics, statisticsOf } from './statistics.js';
import { boolean, i32, printThrift, struct } from './thrift.js';

/** A column of a row group, as it is in a file. Its offsets are within its bytes. */
export interface ColumnChunk {
  readonly bytes: Uint8Array;
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
  const offsets = scalar === 'string' ? offsetsOf(column) : undefined;
  const dictionary = dictionaryOf(scalar, column, offsets);
  if (dictionary !== undefined)
    pages.dictionary(
      plainValues(scalar, dictionary.column, 0, dictionary.column.count),
      dictionary.column.count,
    );
  const dataAt = pages.length;
  const bitWidth = dictionary && bitsOf(dictionary.column.count - 1);
  let values = 0;
  let dataPages = 0;
  for (const page of pagesOf(scalar, column, dictionary === undefined)) {
    const { from, to } = page;
    let encoded: Uint8Array;
    if (dictionary === undefined) encoded = plainValues(scalar, column, from, to, offsets);
    else {
      const out = new ByteWriter(1024 + (((to - from) * bitWidth!) >>> 3));
      out.byte(bitWidth!);
      appendRuns(out, dictionary.indexes, from, to, bitWidth!);
      encoded = out.bytes;
    }
    const levels = levelsOf(column.counts.subarray(page.fromRow, page.toRow), isList);
    pages.data(encoded, levels, dictionary === undefined ? PLAIN : RLE_DICTIONARY);
    values += levels.values;
    dataPages++;
  }
  return {
    bytes: pages.bytes,
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

/** Where each string begins, and the last ends. */
function offsetsOf({ lengths, count }: ColumnValues): Uint32Array {
  const offsets = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++)
    offsets[index + 1] = offsets[index]! + lengths[index]!;
  return offsets;
}

/** A page ends with a row. `from` and `to` count values. */
function* pagesOf(scalar: ScalarType, { counts, lengths }: ColumnValues, isPlain: boolean) {
  const width = WIDTHS[scalar];
  let [from, fromRow, to, bytes] = [0, 0, 0, 0];
  for (let row = 0; row < counts.length; row++) {
    const end = to + Math.max(0, counts[row]! - 1);
    if (width > 0 || !isPlain) bytes += (isPlain ? width : 2) * (end - to);
    else for (let index = to; index < end; index++) bytes += 4 + lengths[index]!;
    to = end;
    // Nulls take little, but readers hold levels of a page, too.
    bytes++;
    if (bytes >= PAGE_BYTES || row === counts.length - 1) {
      yield { from, to, fromRow, toRow: row + 1 };
      [from, fromRow, bytes] = [to, row + 1, 0];
    }
  }
}

/** Values in the encoding PLAIN. */
function plainValues(
  scalar: ScalarType,
  column: ColumnValues,
  from: number,
  to: number,
  offsets = scalar === 'string' ? offsetsOf(column) : undefined,
): Uint8Array {
  if (offsets !== undefined) return plainTexts(column, offsets, from, to);
  if (scalar === 'boolean') return packedBits(column.data, from, to);
  const width = WIDTHS[scalar];
  return column.data.subarray(from * width, to * width);
}

function plainTexts(
  { data, lengths }: ColumnValues,
  offsets: Uint32Array,
  from: number,
  to: number,
): Uint8Array {
  const out = Buffer.allocUnsafeSlow(offsets[to]! - offsets[from]! + 4 * (to - from));
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
  return out;
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
    const definition = new Uint8Array(rows);
    for (let row = 0; row < rows; row++)
      if (counts[row] === 0) nulls++;
      else definition[row] = 1;
    return { rows, values: rows, nulls, repetition: NONE, definition: runsOf(definition, 1) };
  }
  let values = 0;
  for (let row = 0; row < rows; row++) values += Math.max(1, counts[row]! - 1);
  const definition = new Uint8Array(values);
  const repetition = new Uint8Array(values);
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

function runsOf(values: Uint8Array, bitWidth: number): Uint8Array {
  const out = new ByteWriter(64 + (values.length >>> 2));
  appendRuns(out, values, 0, values.length, bitWidth);
  return out.bytes;
}

/** Numbers as runs of equal ones, and packed bits where there are none: the hybrid encoding of the format. */
function appendRuns(
  out: ByteWriter,
  values: Uint8Array | Uint32Array,
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
  values: Uint8Array | Uint32Array,
  from: number,
  to: number,
  bitWidth: number,
): void {
  if (from === to) return;
  const groups = (to - from + 7) >>> 3;
  out.varint(2 * groups + 1);
  const bytes = out.reserve(groups * bitWidth);
  const end = out.length + groups * bitWidth;
  let at = out.length;
  let bits = 0;
  let used = 0;
  for (let index = from; index < to; index++) {
    const value = values[index]!;
    bits |= value << used;
    used += bitWidth;
    if (used >= 32) {
      bytes[at] = bits;
      bytes[at + 1] = bits >>> 8;
      bytes[at + 2] = bits >>> 16;
      bytes[at + 3] = bits >>> 24;
      at += 4;
      used -= 32;
      // What did not fit; a shift by 32 would be one by none.
      bits = used === 0 ? 0 : value >>> (bitWidth - used);
    }
  }
  for (; at < end; bits >>>= 8) bytes[at++] = bits;
  out.length = end;
}

/** How many bits a number takes. */
function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}

/** The pages of a chunk. */
class PageWriter {
  plainBytes = 0;
  readonly #out = new ByteWriter(4096);
  readonly #compression: ParquetCompression;

  constructor(compression: ParquetCompression) {
    this.#compression = compression;
  }

  get length(): number {
    return this.#out.length;
  }

  /** A copy without the memory that is left over. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.#out.bytes);
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

  #append(header: Uint8Array, plainBytes: number, pieces: readonly Uint8Array[]): void {
    this.plainBytes += header.length + plainBytes;
    for (const piece of [header, ...pieces]) this.#out.append(piece);
  }
}
