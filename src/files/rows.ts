import type { Batch, Cursor } from '../flow/flow.js';
import type { FileRecords, Records, RewrittenRecords } from './file-records.js';
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
  /** Size of its lines before compression; 0 for parts. */
  readonly lineBytes: number;
}

/** Bytes of records for one output: the rows from `from` to `to` in a list, each with a line feed. */
export interface OpenFileRange {
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
  /** The records of the rows; a thread may have their content. */
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  /** Size of the content. */
  readonly bytes: number;
  /** Whether a thread holds the content, and can `write` and `encode` rows. */
  readonly isInThread: boolean;
  /** Lets the thread write rows as lines to open files. Resolves to the range that could not be written. */
  write(
    rows: Uint32Array,
    ranges: readonly OpenFileRange[],
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
  /** Replaces records by the records of items. The step that does so must have set `replaces`. */
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

/** Creates the item of a row that is routed to a tag. */
type RoutedItem = (tag: string, item: unknown) => unknown;

/** Combinations of tags. */
type TagSets = readonly (readonly string[])[];

interface RowTags {
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
  readonly item?: RoutedItem | undefined;
}

/**
 * The rows that have passed the steps so far: rows of a decoded file, or items of another source. Both classes have the
 * same methods, so that a step has one body.
 */
export type Rows = StoredRows | ItemRows;

/** Rows of a decoded file: their numbers, and columns of all rows of the file. A step returns others of the same file. */
export class StoredRows {
  readonly file: DecodedRows;
  /** Row numbers in the order of the records. A row that is routed to several tags is listed once for each tag. */
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
  static of(file: DecodedRows): StoredRows {
    const rows = new Uint32Array(file.rows.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    return new StoredRows(file, rows);
  }

  get count(): number {
    return this.rows.length;
  }

  /** The bounds of the rows in the content of the file. */
  get bounds(): FileRecords {
    return this.file.rows;
  }

  /** The number of rows that a column has. */
  get columnSize(): number {
    return this.bounds.count;
  }

  /** A column of all rows of the file, by row. @throws Error for a column that is not read. */
  column<Data>(column: RecordColumn<Data>): Data {
    const data = this.file.columns.get(column as RecordColumn);
    if (data === undefined) throw new Error(`The column ${column.kind.name} is not read`);
    return data as Data;
  }

  /** The rows from one index up to another. */
  slice(from: number, to: number): StoredRows {
    const { file, rows, tags, tagNames } = this;
    return new StoredRows(file, rows.subarray(from, to), {
      tags: tags?.subarray(from, to),
      tagNames,
      item: this.#routed,
    });
  }

  /** The rows that pass a test, which gets each once, in order; before `routeByTag` only. */
  filter(test: (row: number) => boolean): StoredRows {
    const { file, rows } = this;
    const passed = new Uint32Array(rows.length);
    let count = 0;
    // By index: an iterator is more for V8 to compile, in each run.
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      if (test(row)) passed[count++] = row;
    }
    return new StoredRows(file, passed.subarray(0, count));
  }

  /**
   * The same rows, each once for each of its tags.
   *
   * @param sets For each row of the file, the number of its combination of tags.
   * @param item Creates the item of a row and a tag.
   */
  routed(sets: Uint32Array, tagSets: TagSets, item: RoutedItem): StoredRows {
    const numbers = new Map<string, number>();
    const numberOf = (tag: string) => {
      const number = numbers.get(tag) ?? numbers.size;
      numbers.set(tag, number);
      return number;
    };
    const numberSets = tagSets.map(set => set.map(numberOf));
    const { rows, tags } = eachTagOf(this.rows, sets, numberSets);
    return new StoredRows(this.file, rows, { tags, tagNames: [...numbers.keys()], item });
  }

  /** The bytes of some rows, valid until the content is released. */
  records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    return this.file.records(rows);
  }

  /** Replaces the records of rows by the records of items. The step that does so must have set `replaces`. */
  async replaced(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<StoredRows> {
    await this.file.replace(items);
    return this;
  }

  /** The item of a row, whose content is on this thread. */
  item(row: number): unknown {
    return this.file.itemOf(row);
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

// A separate function, because V8 optimises a short loop over typed arrays sooner.
function eachTagOf(rows: Uint32Array, sets: Uint32Array, tagSets: readonly (readonly number[])[]) {
  let count = 0;
  for (let at = 0; at < rows.length; at++) count += tagSets[sets[rows[at]!]!]!.length;
  const routed = new Uint32Array(count);
  const tags = new Uint32Array(count);
  let next = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!;
    const set = tagSets[sets[row]!]!;
    for (let index = 0; index < set.length; index++) {
      routed[next] = row;
      tags[next++] = set[index]!;
    }
  }
  return { rows: routed, tags };
}

/** Reads columns of items. Created once in a run, as a reader may have much state. */
export class ItemColumns {
  readonly #readers = new Map<RecordColumn, (records: Records) => unknown>();

  read(column: RecordColumn, records: Records): unknown {
    let reader = this.#readers.get(column);
    if (reader === undefined) {
      reader = column.kind.create(column.options);
      this.#readers.set(column, reader);
    }
    return reader(records);
  }
}

/**
 * Items that come from elsewhere than a decoded file, such as a page of a search, as rows. Their columns are read from the
 * items when a step asks for them.
 */
export class ItemRows implements Records {
  /** The items by row. A column may rewrite them. */
  items: readonly unknown[];
  readonly #columns: ItemColumns;

  constructor(items: readonly unknown[], columns: ItemColumns) {
    this.items = items;
    this.#columns = columns;
  }

  get count(): number {
    return this.items.length;
  }

  get columnSize(): number {
    return this.items.length;
  }

  /** The numbers of the rows. */
  get rows(): Uint32Array {
    const rows = new Uint32Array(this.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    return rows;
  }

  column<Data>(column: RecordColumn<Data>): Data {
    return this.#columns.read(column as RecordColumn, this) as Data;
  }

  slice(from: number, to: number): ItemRows {
    return this.#of(this.items.slice(from, to));
  }

  filter(test: (row: number) => boolean): ItemRows {
    return this.#of(this.items.filter((_, row) => test(row)));
  }

  routed(sets: Uint32Array, tagSets: TagSets, item: RoutedItem): ItemRows {
    const routed: unknown[] = [];
    for (let row = 0; row < this.count; row++)
      for (const tag of tagSets[sets[row]!]!) routed.push(item(tag, this.items[row]));
    return this.#of(routed);
  }

  async records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    return Array.from(rows, row => this.#bytesOf(row));
  }

  async replaced(items: ReadonlyMap<number, unknown>): Promise<ItemRows> {
    return this.#of(this.items.map((item, row) => items.get(row) ?? item));
  }

  item(row: number): unknown {
    return this.items[row];
  }

  each(use: (row: number, content: Buffer, start: number, end: number) => void): void {
    for (let row = 0; row < this.count; row++) {
      const bytes = this.#bytesOf(row);
      use(row, bytes, 0, bytes.length);
    }
  }

  rewrite({ content, starts, lengths }: RewrittenRecords, itemOf: (record: Buffer) => unknown) {
    this.items = Array.from({ length: this.count }, (_, row) => {
      const start = starts[row]!;
      const length = lengths[row]!;
      return length === 0 ? undefined : itemOf(content.subarray(start, start + length));
    });
  }

  /** Empty, because each item has its own bytes. */
  get content(): Buffer {
    return NO_CONTENT;
  }

  get byteLength(): number {
    let bytes = 0;
    for (let row = 0; row < this.count; row++) bytes += this.#bytesOf(row).length;
    return bytes;
  }

  get starts(): Uint32Array {
    return filled(this.count).zeros;
  }

  get marks(): Uint32Array {
    return filled(this.count).zeros;
  }

  get lengths(): Uint32Array {
    return filled(this.count).ones;
  }

  #bytesOf(row: number): Buffer {
    return (this.items[row] as { readonly raw: Buffer }).raw;
  }

  #of(items: readonly unknown[]): ItemRows {
    return new ItemRows(items, this.#columns);
  }
}

const NO_CONTENT = Buffer.alloc(0);

let constant = { zeros: new Uint32Array(64), ones: new Uint32Array(64).fill(1) };

/** An array of at least `count` numbers. It is never changed, so batches share it: creating one for each batch would take time. */
function filled(count: number): typeof constant {
  if (count > constant.zeros.length)
    constant = { zeros: new Uint32Array(2 * count), ones: new Uint32Array(2 * count).fill(1) };
  return constant;
}

/** Items that arrived together: rows of a decoded file, or items themselves. */
export type EngineBatch =
  | {
      readonly rows: StoredRows;
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
