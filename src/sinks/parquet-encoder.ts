import { encodeChunks } from '../parquet/column-chunk.js';
import type { ParquetCompression } from '../parquet/page-codec.js';
import { ParquetFile } from '../parquet/parquet-file.js';
import { columnsOfPart, PARTS, RowBlockBuilder } from '../parquet/row-block.js';
import type { CheckedColumns } from '../tables/columns.js';
import type { RowReader } from '../tables/row-reader.js';
import type { Encoder } from './output/format.js';

/** What all files of a run have in common. */
export interface ParquetFormat {
  readonly columns: CheckedColumns;
  readonly read: RowReader;
  readonly compression: ParquetCompression;
  /** Rows of a row group. */
  readonly rowGroup: number;
}

/** Builds a Parquet file: rows are held until their row group is complete, then encoded column by column. */
export class ParquetEncoder implements Encoder<unknown> {
  readonly #format: ParquetFormat;
  readonly #file: ParquetFile;
  readonly #rows: RowBlockBuilder;

  constructor(format: ParquetFormat) {
    const { columns, compression } = format;
    this.#format = format;
    this.#file = new ParquetFile(columns, compression);
    this.#rows = new RowBlockBuilder(columns.map(({ type }) => type));
  }

  get heldBytes(): number {
    return this.#rows.bytes;
  }

  add(item: unknown, origin: string | undefined): void {
    this.#rows.add(this.#format.read(item, origin));
  }

  get full(): boolean {
    return this.#rows.rows >= this.#format.rowGroup;
  }

  flush(): Uint8Array {
    return Buffer.concat(this.#rowGroup());
  }

  end(): Uint8Array {
    return Buffer.concat([...this.#rowGroup(), this.#file.footer()]);
  }

  #rowGroup(): Uint8Array[] {
    if (this.#rows.rows === 0) return [];
    const { columns, compression } = this.#format;
    const types = columns.map(({ type }) => type);
    const { rows, parts } = this.#rows.take();
    const byPart = parts.map((part, index) =>
      encodeChunks(columnsOfPart(types, index), [part], compression),
    );
    const chunks = types.map((_, index) => byPart[index % PARTS]![Math.floor(index / PARTS)]!);
    return this.#file.rowGroup(rows, chunks);
  }
}
