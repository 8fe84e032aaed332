import type { Batch, Cursor } from '../flow/flow.js';
import type { Column } from './columns.js';
import type { DecodedFile } from './decoded-file.js';
import type { FileRows } from './file-rows.js';

/** The item of a row that is routed to a tag. */
type RoutedItem = (tag: string, item: unknown) => unknown;

interface RowTags {
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
  readonly item?: RoutedItem | undefined;
}

/**
 * Rows of a decoded file that have passed the steps so far: the numbers of their rows, and columns of all rows of the file. A
 * step returns others of the same file.
 */
export class Rows {
  readonly file: DecodedFile;
  /** In the order of the records; one that is routed to several tags comes several times. */
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags: Uint32Array | undefined;
  readonly tagNames: readonly string[] | undefined;
  readonly #routed: RoutedItem | undefined;

  private constructor(file: DecodedFile, rows: Uint32Array, tags: RowTags = {}) {
    this.file = file;
    this.rows = rows;
    this.tags = tags.tags;
    this.tagNames = tags.tagNames;
    this.#routed = tags.item;
  }

  /** All rows of a file. */
  static of(file: DecodedFile): Rows {
    const rows = new Uint32Array(file.rows.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    return new Rows(file, rows);
  }

  get count(): number {
    return this.rows.length;
  }

  /** Where the rows are in the content of the file. */
  get bounds(): FileRows {
    return this.file.rows;
  }

  /** A column of all rows of the file, by row. @throws Error for a column that is not read. */
  column<Data>(column: Column<Data>): Data {
    const data = this.file.columns.get(column as Column);
    if (data === undefined) throw new Error(`The column ${column.kind.name} is not read`);
    return data as Data;
  }

  /** The rows from one index up to another. */
  slice(from: number, to: number): Rows {
    const { file, rows, tags, tagNames } = this;
    return new Rows(file, rows.subarray(from, to), {
      tags: tags?.subarray(from, to),
      tagNames,
      item: this.#routed,
    });
  }

  /** The rows that pass a test, which gets each once, in order; before `routeByTag` only. */
  filter(test: (row: number) => boolean): Rows {
    const { file, rows } = this;
    const passed = new Uint32Array(rows.length);
    let count = 0;
    // By index: an iterator is more for V8 to compile, in each run.
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      if (test(row)) passed[count++] = row;
    }
    return new Rows(file, passed.subarray(0, count));
  }

  /**
   * The same records, each for tags.
   *
   * @param tags For each row, the index of its tag in `tagNames`.
   * @param item Creates the item of a row and a tag.
   */
  routed(
    rows: Uint32Array,
    tags: Uint32Array,
    tagNames: readonly string[],
    item: RoutedItem,
  ): Rows {
    return new Rows(this.file, rows, { tags, tagNames, item });
  }

  /** The items, which are views of the content of the file. */
  async items(): Promise<unknown[]> {
    const { file, rows, tags, tagNames } = this;
    await file.content();
    return Array.from(rows, (row, index) => {
      const item = file.itemOf(row);
      return tags === undefined ? item : this.#routed!(tagNames![tags[index]!]!, item);
    });
  }
}

/** Items that arrived together: rows of a decoded file, or items themselves. */
export type EngineBatch =
  | {
      readonly rows: Rows;
      readonly items?: undefined;
      readonly cursor?: Cursor | undefined;
      readonly origin?: string | undefined;
    }
  | (Batch<unknown> & { readonly rows?: undefined });

/** A batch for a reader that keeps its items. */
export async function asItems(batch: EngineBatch): Promise<Batch<unknown>> {
  if (batch.rows === undefined) return batch;
  const { rows, cursor, origin } = batch;
  const items = await rows.items();
  rows.file.leave();
  return { items, cursor, origin };
}

export function countOf({ rows, items }: EngineBatch): number {
  return rows === undefined ? items.length : rows.count;
}
