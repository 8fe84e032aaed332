import type { Batch, Cursor } from '../flow/flow.js';
import type { FileRows } from './file-rows.js';
import type { RecordColumn } from './record-columns.js';

/** Rows of a file, and the tags that they are routed by. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/** Rows as parts that a format assembles itself, such as columns of a row group. */
export interface RowParts {
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
}

/** Rows as bytes of a file, in one part, or as `RowParts`. */
export interface EncodedBlock extends RowParts {
  /** Size of its lines before compression; 0 for parts, and for bytes of records, whose size is known before. */
  readonly lineBytes: number;
}

/** Bytes of records for one output: those of the rows from `from` to `to` in a list, each with a line feed. */
export interface WriteRange {
  /** An open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** A decoded file, as steps and sinks see it. */
export interface DecodedRows {
  /** The file, for error messages. */
  readonly origin: string;
  /** Where the rows are; their content may be with a thread. */
  readonly rows: FileRows;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  /** Size of the content. */
  readonly bytes: number;
  /** Whether a thread holds the content, and can `write` and `encode` rows. */
  readonly isInThread: boolean;
  /** Lets the thread write rows as lines to open files. Resolves to the range that could not be written. */
  write(
    rows: Uint32Array,
    ranges: readonly WriteRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined>;
  /**
   * Lets the thread encode rows in blocks; `ends` has the index in `list` after the last of each. Resolves to `undefined`
   * if a row cannot be encoded.
   */
  encode(
    list: RowList,
    ends: readonly number[],
    encoding: number,
  ): Promise<readonly EncodedBlock[] | undefined>;
  /** The content, which the thread then no longer holds. */
  content(): Promise<Buffer>;
  /** Some of the records, valid until the content is released. */
  records(rows: Uint32Array): Promise<readonly Uint8Array[]>;
  /** Replaces records by those of items. The step that does so must say that it `replaces`. */
  replace(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<void>;
  /** The item of a row, whose content is on this thread. */
  itemOf(row: number): unknown;
  /** Adds a reader, which releases the file, too. */
  share(): void;
  /** Frees the memory of the content once all readers have released it. */
  release(): void;
  /** Frees only what other threads hold: the reader that has taken the content continues to use it. */
  leave(): void;
}

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
  readonly file: DecodedRows;
  /** In the order of the records; one that is routed to several tags comes several times. */
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags: Uint32Array | undefined;
  readonly tagNames: readonly string[] | undefined;
  readonly #routed: RoutedItem | undefined;

  private constructor(file: DecodedRows, rows: Uint32Array, tags: RowTags = {}) {
    this.file = file;
    this.rows = rows;
    this.tags = tags.tags;
    this.tagNames = tags.tagNames;
    this.#routed = tags.item;
  }

  /** All rows of a file. */
  static of(file: DecodedRows): Rows {
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
  column<Data>(column: RecordColumn<Data>): Data {
    const data = this.file.columns.get(column as RecordColumn);
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
