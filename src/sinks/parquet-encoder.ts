import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { RowValue, ScalarType } from '../tables/column.js';
import type { CheckedColumns } from '../tables/columns.js';
import { elementType } from '../tables/convert-value.js';
import type { RowReader } from '../tables/row-reader.js';
import type { Encoder } from './output/format.js';
import type { ParquetCodec } from './parquet-codec.js';

/** What all files of a run have in common. */
export interface ParquetFormat {
  readonly columns: CheckedColumns;
  readonly read: RowReader;
  readonly codec: ParquetCodec;
  /** Rows of a row group. */
  readonly rowGroup: number;
}

/** Builds a Parquet file: rows are held until their row group is complete, then encoded column by column. */
export class ParquetEncoder implements Encoder<unknown> {
  heldBytes = 0;
  readonly #format: ParquetFormat;
  readonly #writer = new ByteWriter();
  readonly #parquet: ParquetWriter;
  #rows = 0;
  #columns: RowValue[][];

  constructor(format: ParquetFormat) {
    const { columns, codec } = format;
    this.#format = format;
    this.#columns = columns.map(() => []);
    this.#parquet = new ParquetWriter({
      writer: this.#writer,
      schema: parquetSchema(columns),
      createdBy: 'millrace',
      codec: codec.name,
      compressors: codec.compressors,
    });
  }

  add(item: unknown, origin: string | undefined): void {
    const row = this.#format.read(item, origin);
    for (const [at, value] of row.entries()) {
      (this.#columns[at] as RowValue[]).push(value);
      this.heldBytes += sizeOf(value);
    }
    this.#rows++;
  }

  get full(): boolean {
    return this.#rows >= this.#format.rowGroup;
  }

  flush(): Uint8Array {
    this.#writeGroup();
    return this.#taken();
  }

  end(): Uint8Array {
    this.#writeGroup();
    this.#parquet.finish();
    return this.#taken();
  }

  #writeGroup(): void {
    if (this.#rows === 0) return;
    const columnData = this.#format.columns.map(({ name, type }, at) => ({
      name,
      data: this.#columns[at] as RowValue[],
      // Readers skip row groups by their minimum and maximum; those of list elements are never used.
      statistics: elementType(type) === undefined,
    }));
    this.#parquet.write({ columnData, rowGroupSize: this.#rows });
    this.#columns = this.#columns.map(() => []);
    this.#rows = 0;
    this.heldBytes = 0;
  }

  /** The bytes since the last call. The writer gets new memory, as these are still to be written to disk. */
  #taken(): Uint8Array {
    const bytes = this.#writer.getBytes();
    const { buffer, view } = new ByteWriter();
    Object.assign(this.#writer, { buffer, view, index: 0 });
    return bytes;
  }
}

/** An estimate of the memory of a value, its entry in the column included. */
function sizeOf(value: RowValue): number {
  switch (typeof value) {
    case 'string':
      return 24 + 2 * value.length;
    case 'bigint':
      return 32;
    case 'object':
      if (value === null) return 8;
      if (!Array.isArray(value)) return 64;
      return value.reduce((sum, element) => sum + sizeOf(element), 48);
    default:
      return 16;
  }
}

const SCALARS: Readonly<Record<ScalarType, Omit<SchemaElement, 'name'>>> = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/** The schema of a Parquet file with these columns. Every column may be null, the elements of a list not. */
function parquetSchema(columns: CheckedColumns): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(({ name, type }): SchemaElement[] => {
      const element = elementType(type);
      if (element === undefined)
        return [{ name, repetition_type: 'OPTIONAL', ...SCALARS[type as ScalarType] }];
      return [
        {
          name,
          repetition_type: 'OPTIONAL',
          num_children: 1,
          converted_type: 'LIST',
          logical_type: { type: 'LIST' },
        },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'REQUIRED', ...SCALARS[element] },
      ];
    }),
  ];
}
