import { type ItemEncoder, JoinedBytes, type RowEncoding } from '../../files/encode-rows.js';
import { type ItemWriter, itemWriter } from '../from-bytes/post-rows.js';
import { type RowReader, rowReader } from '../row-reader.js';
import { type CheckedColumns, type InvalidValues, postColumnNames } from '../table-options.js';
import { CSV_ROWS, CsvCells } from './csv-encoder.js';
import { csvRow } from './csv-row.js';

export interface CsvRowOptions {
  readonly columns: CheckedColumns;
  readonly invalidValues: InvalidValues;
  readonly escapesFormulas: boolean;
}

/**
 * Prints rows of any items as CSV, each with its line end. If all columns are post columns, the rows of posts
 * are written directly from the bytes of the posts.
 */
export class CsvRows implements ItemEncoder {
  readonly #read: RowReader;
  readonly #posts: ItemWriter<CsvCells> | undefined;
  readonly #escapesFormulas: boolean;
  readonly #printed = new JoinedBytes();

  /** @param call The name of the function that was called with the columns, for messages. */
  constructor(call: string, { columns, invalidValues, escapesFormulas }: CsvRowOptions) {
    this.#read = rowReader(call, columns, invalidValues);
    this.#posts = itemWriter(
      call,
      columns,
      invalidValues,
      strings => new CsvCells(strings, escapesFormulas),
    );
    this.#escapesFormulas = escapesFormulas;
  }

  get byteLength(): number {
    return this.#posts?.out.byteLength ?? this.#printed.byteLength;
  }

  add(item: unknown, origin?: string): void {
    const posts = this.#posts;
    if (posts === undefined) this.#printed.add(Buffer.from(this.#print(item, origin)));
    else if (!posts.write(item, origin)) posts.out.row(this.#read(item, origin));
  }

  take(): Buffer {
    return this.#posts?.out.take() ?? this.#printed.take();
  }

  /**
   * Returns the row of an item as a string. Must not be called while rows that were passed to `add` have not
   * been taken with `take`.
   */
  text(item: unknown): string {
    return this.#posts?.write(item) === true ? this.#posts.out.takeText() : this.#print(item);
  }

  #print(item: unknown, origin?: string): string {
    return `${csvRow(this.#read(item, origin), this.#escapesFormulas)}\n`;
  }
}

/**
 * Returns the encoding with which another thread prints the same rows as `CsvRows`. Returns `undefined`
 * unless all columns are post columns.
 */
export function csvRowsInThread({ columns, ...options }: CsvRowOptions): RowEncoding | undefined {
  const names = postColumnNames(columns);
  return names && { kind: CSV_ROWS, options: { columns: names, ...options } };
}
