import type { Batch, Cursor } from '../flow/flow.js';
import type { FileRecords, Records, RewrittenRecords } from './file-records.js';
import type { RecordColumn } from './record-columns.js';

/** Rows of a file, and the tags that route them. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/** Encoded rows as separate parts, which the format assembles, such as the columns of a row group. */
export interface RowParts {
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
}

/** Encoded rows, either as bytes of a file in one part, or as `RowParts`. */
export interface EncodedBlock extends RowParts {
  /** The size of the lines before compression, in bytes; 0 for `RowParts`. */
  readonly lineBytes: number;
}

/** A range of rows to write to one output, each with a line feed. */
export interface OpenFileRange {
  /** The descriptor of an open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** A decoded file in the form in which steps and sinks use it. */
export interface DecodedRows {
  /** The path or URL of the file, for error messages. */
  readonly origin: string;
  /** The records of the rows. A thread may hold their content. */
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  /** The size of the content in bytes. */
  readonly bytes: number;
  /** Whether a thread holds the content, and can `write` and `encode` rows. */
  readonly isInThread: boolean;
  /**
   * Lets the thread write rows as lines to open files. Resolves to the range that could not be written.
   *
   * @throws StorageError if the thread has ended.
   */
  write(
    rows: Uint32Array,
    ranges: readonly OpenFileRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined>;
  /**
   * Lets the thread encode rows in blocks. For each block, `ends` has the index in `list` after its last row.
   * Resolves to `undefined` if a row cannot be encoded.
   *
   * @param encoding The number that `Engine.add` returned for the encoding.
   * @throws StorageError if the thread has ended.
   */
  encode(
    list: RowList,
    ends: readonly number[],
    encoding: number,
  ): Promise<readonly EncodedBlock[] | undefined>;
  /** Returns the content. The thread then no longer holds it. */
  content(): Promise<Buffer>;
  /** The bytes of some records, valid until the content is released. */
  records(rows: Uint32Array): Promise<readonly Uint8Array[]>;
  /** Replaces records by the records of items. Only a step with `replaces` may call this. */
  replace(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<void>;
  /** The item of a row. The content must be on this thread. */
  itemOf(row: number): unknown;
  /**
   * Adds a reader. The memory is freed once all readers have called `release`. After this call, records must
   * not be replaced.
   */
  share(): void;
  /** Frees the memory of the content once all readers have released it. Views of it become empty. */
  release(): void;
  /** Like `release`, but keeps memory on this thread, because the reader that has taken the content still uses it. */
  leave(): void;
}

/** Creates the item of a row that is routed to a tag. */
type RoutedItem = (tag: string, item: unknown) => unknown;

/** The distinct combinations of tags. */
type TagSets = readonly (readonly string[])[];

interface RowTags {
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
  readonly item?: RoutedItem | undefined;
}

/**
 * The rows that have passed the steps so far: rows of a decoded file, or items of another source. Both
 * classes have the same methods, so that a step works with either.
 */
export type Rows = StoredRows | ItemRows;

/** Rows of a decoded file: their numbers, and the columns of the file. A step returns other rows of the same file. */
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

  /** The positions of all rows of the file in its content. */
  get bounds(): FileRecords {
    return this.file.rows;
  }

  /** The number of elements in each column. */
  get columnSize(): number {
    return this.bounds.count;
  }

  /** A column with an element for every row of the file. @throws Error for a column that was not read. */
  column<Data>(column: RecordColumn<Data>): Data {
    const data = this.file.columns.get(column as RecordColumn);
    if (data === undefined) throw new Error(`The column ${column.kind.name} is not read`);
    return data as Data;
  }

  /** A range of the rows. */
  slice(from: number, to: number): StoredRows {
    const { file, rows, tags, tagNames } = this;
    return new StoredRows(file, rows.subarray(from, to), {
      tags: tags?.subarray(from, to),
      tagNames,
      item: this.#routed,
    });
  }

  /** The rows that pass a test. Calls the test once for each row, in order. Must not be used after `routeByTag`. */
  filter(test: (row: number) => boolean): StoredRows {
    const { file, rows } = this;
    const passed = new Uint32Array(rows.length);
    let count = 0;
    // Uses an index, because V8 has to compile more code for an iterator in each run.
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      if (test(row)) passed[count++] = row;
    }
    return new StoredRows(file, passed.subarray(0, count));
  }

  /**
   * Lists each row once for each of its tags.
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

  /** The bytes of some records, valid until the content is released. */
  records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    return this.file.records(rows);
  }

  /** Replaces the records of rows by the records of items. Only a step with `replaces` may call this. */
  async replaced(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<StoredRows> {
    await this.file.replace(items);
    return this;
  }

  /** The item of a row. The content must be on this thread. */
  item(row: number): unknown {
    return this.file.itemOf(row);
  }

  /**
   * Lets the thread that holds the content encode rows of this file as blocks, then releases the file. For
   * each block, `ends` has the index in `list` after its last row.
   *
   * @param encoding The number that `Engine.add` returned for the encoding.
   * @param encodeHere Encodes items on this thread. Called if the thread cannot encode a row, because it
   * throws the exact error.
   */
  async encode(
    list: RowList,
    ends: readonly number[],
    encoding: number,
    encodeHere: (items: readonly unknown[]) => unknown,
  ): Promise<readonly EncodedBlock[]> {
    const { file } = this;
    try {
      const blocks = await file.encode(list, ends, encoding);
      if (blocks !== undefined) return blocks;
      await encodeHere(await this.items());
      throw new Error(`A thread could not encode the posts of ${file.origin}`);
    } finally {
      // The content is not needed any more.
      file.release();
    }
  }

  /** The items, as views of the content of the file. */
  async items(): Promise<unknown[]> {
    const { file, rows, tags, tagNames } = this;
    await file.content();
    return Array.from(rows, (row, index) => {
      const item = file.itemOf(row);
      return tags === undefined ? item : this.#routed!(tagNames![tags[index]!]!, item);
    });
  }
}

// This is a separate function because V8 optimises a short loop over typed arrays sooner.
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

/** Reads the columns of items. Created once for each run, because the reader of a column may have much state. */
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
 * Items of a source without decoded files, such as a page of a search, as rows. Their columns are read when a
 * step asks for them.
 */
export class ItemRows implements Records {
  /** The items by row. Reading a column may rewrite them. */
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

  /** Always empty, because each item has separate bytes. */
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

/**
 * Returns an array of at least `count` equal numbers. The array never changes, so batches share it: creating
 * one for each batch would take time.
 */
function filled(count: number): typeof constant {
  if (count > constant.zeros.length)
    constant = { zeros: new Uint32Array(2 * count), ones: new Uint32Array(2 * count).fill(1) };
  return constant;
}

/** Items that arrived together, either as rows of a decoded file or as items. */
export type EngineBatch =
  | {
      readonly rows: StoredRows;
      readonly items?: undefined;
      readonly cursor?: Cursor | undefined;
      readonly origin?: string | undefined;
    }
  | (Batch<unknown> & { readonly rows?: undefined });

/** A batch as items, for a reader that keeps them. */
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
