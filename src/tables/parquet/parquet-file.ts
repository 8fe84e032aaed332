import type { ColumnType, ScalarType } from '../column.js';
import { elementType } from '../convert-value.js';
import { type ColumnChunk, DATA_PAGE_V2, DICTIONARY_PAGE, PLAIN } from './column-chunk.js';
import { PAGE_CODECS, type ParquetCompression } from './page-codec.js';
import { SCALARS, scalarOf } from './scalars.js';
import {
  binary,
  boolean,
  i32,
  i64,
  list,
  printThrift,
  struct,
  type ThriftStruct,
  type ThriftValue,
  utf8,
} from './thrift.js';

/** A column of a Parquet file. Every column may contain nulls, but the elements of a list may not be null. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: ColumnType;
}

const MAGIC = Buffer.from('PAR1');

/**
 * Builds a Parquet file: the row groups, then the footer, which lists the positions of the columns in each
 * row group.
 */
export class ParquetFile {
  readonly #columns: readonly ParquetColumn[];
  readonly #codec: number;
  #length = 0;
  #rows = 0;
  readonly #groups: ThriftValue[] = [];

  constructor(columns: readonly ParquetColumn[], compression: ParquetCompression) {
    this.#columns = columns;
    this.#codec = PAGE_CODECS[compression].number;
  }

  /** Returns the bytes of the next row group. The first row group starts with the magic bytes of the file. */
  rowGroup(rows: number, chunks: readonly ColumnChunk[]): Uint8Array[] {
    const pieces: Uint8Array[] = this.#length === 0 ? [Uint8Array.from(MAGIC)] : [];
    this.#length ||= MAGIC.length;
    const start = this.#length;
    let plainBytes = 0;
    const columns = chunks.map((chunk, index) => {
      const at = this.#length;
      this.#length += chunk.length;
      plainBytes += chunk.plainBytes;
      pieces.push(...chunk.pieces);
      return struct({ 2: i64(at), 3: struct(this.#chunkOf(this.#columns[index]!, chunk, at)) });
    });
    this.#rows += rows;
    this.#groups.push(
      struct({
        1: list(columns),
        2: i64(plainBytes),
        3: i64(rows),
        5: i64(start),
        6: i64(this.#length - start),
      }),
    );
    return pieces;
  }

  footer(): Uint8Array {
    const metadata = printThrift({
      1: i32(2),
      2: list([
        struct({ 4: utf8('root'), 5: i32(this.#columns.length) }),
        ...this.#columns.flatMap(schemaOf),
      ]),
      3: i64(this.#rows),
      4: list(this.#groups),
      6: utf8('millrace'),
      // Field 7 (`column_orders`) states that the minimum and maximum of each column use the order that its
      // type defines.
      7: list(this.#columns.map(() => struct({ 1: struct({}) }))),
    });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(metadata.length);
    return Buffer.concat([this.#length === 0 ? MAGIC : Buffer.alloc(0), metadata, length, MAGIC]);
  }

  #chunkOf({ name, type }: ParquetColumn, chunk: ColumnChunk, at: number): ThriftStruct {
    const { encodings, hasDictionary, dataAt, dataPages, statistics } = chunk;
    const path = elementType(type) === undefined ? [name] : [name, 'list', 'element'];
    return {
      1: i32(SCALARS[scalarOf(type)].physical),
      2: list(encodings.map(i32)),
      3: list(path.map(utf8)),
      4: i32(this.#codec),
      5: i64(chunk.values),
      6: i64(chunk.plainBytes),
      7: i64(chunk.length),
      9: i64(at + dataAt),
      11: hasDictionary ? i64(at) : undefined,
      12: statistics && struct(statisticsFields(statistics)),
      13: list([
        ...(hasDictionary ? [pages(DICTIONARY_PAGE, PLAIN, 1)] : []),
        pages(DATA_PAGE_V2, encodings.at(hasDictionary ? -1 : 0)!, dataPages),
      ]),
    };
  }
}

function pages(type: number, encoding: number, count: number): ThriftValue {
  return struct({ 1: i32(type), 2: i32(encoding), 3: i32(count) });
}

function statisticsFields({ nulls, bounds }: NonNullable<ColumnChunk['statistics']>): ThriftStruct {
  return {
    3: i64(nulls),
    5: bounds && binary(bounds.max),
    6: bounds && binary(bounds.min),
    7: bounds && boolean(bounds.isMaxExact),
    8: bounds && boolean(bounds.isMinExact),
  };
}

/** Values of the enumeration `FieldRepetitionType` in the Parquet format. */
const [REQUIRED, OPTIONAL, REPEATED] = [0, 1, 2];
/** Values of the enumeration `ConvertedType` in the Parquet format. */
const [UTF8, LIST, TIMESTAMP_MILLIS] = [0, 3, 9];

/** The logical type of each scalar type, in the notations of both old and new readers. */
const MEANINGS: Readonly<Partial<Record<ScalarType, ThriftStruct>>> = {
  string: { 6: i32(UTF8), 10: struct({ 1: struct({}) }) },
  timestamp: {
    6: i32(TIMESTAMP_MILLIS),
    // A timestamp in UTC with millisecond precision.
    10: struct({ 8: struct({ 1: boolean(true), 2: struct({ 1: struct({}) }) }) }),
  },
};

function schemaOf({ name, type }: ParquetColumn): ThriftValue[] {
  const scalar = scalarOf(type);
  const leaf = (repetition: number, called: string) =>
    struct({
      1: i32(SCALARS[scalar].physical),
      3: i32(repetition),
      4: utf8(called),
      ...MEANINGS[scalar],
    });
  if (scalar === type) return [leaf(OPTIONAL, name)];
  return [
    struct({
      3: i32(OPTIONAL),
      4: utf8(name),
      5: i32(1),
      6: i32(LIST),
      10: struct({ 3: struct({}) }),
    }),
    struct({ 3: i32(REPEATED), 4: utf8('list'), 5: i32(1) }),
    leaf(REQUIRED, 'element'),
  ];
}
