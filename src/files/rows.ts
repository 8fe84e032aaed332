import type { Batch, Cursor } from '../flow/flow.js';
import type { FileRecords, Records, RewrittenRecords } from './file-records.js';
import type { RecordColumn } from './record-columns.js';

/** A list of rows of a file, and the tags to which the rows are routed. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row in the list, the index of its tag in `tagNames`. Absent if the flow has no `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/**
 * Encoded rows of a format such as Parquet, which does not write rows one after another. Each part has the
 * bytes of some columns. The file is assembled from these parts later.
 */
export interface RowParts {
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
}

/**
 * A block of encoded rows. If the format writes rows one after another, `parts` has one element: the bytes to
 * append to the file. If the format assembles the file later, `parts` is as in `RowParts`.
 */
export interface EncodedBlock extends RowParts {
  /** The size of the rows before compression, in bytes. 0 if the format assembles the file later. */
  readonly lineBytes: number;
}

/** A range of rows to write to one output file. Each row is written with a line feed. */
export interface OpenFileRange {
  /** The descriptor of an open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

export interface DecodedRows {
  readonly origin: string;
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  readonly bytes: number;
  /** Whether the content is on another thread, which can `write` and `encode` its rows. */
  readonly isInThread: boolean;
  /**
   * Lets the thread that holds the content write rows to open files, one line for each row. If it fails to
   * write one of `ranges`, resolves to the index of that range and the error.
   *
   * @throws StorageError if the thread has ended
   */
  write(
    rows: Uint32Array,
    ranges: readonly OpenFileRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined>;
  /**
   * Lets the thread that holds the content encode rows in blocks. For each block, `ends` holds the index in
   * `list` after the last row of the block. Resolves to `undefined` if a row cannot be encoded.
   *
   * @param encoding The index of the reader whose encoding to use. `Engine.add` has returned this index.
   * @throws StorageError if the thread has ended
   */
  encode(
    list: RowList,
    ends: readonly number[],
    encoding: number,
  ): Promise<readonly EncodedBlock[] | undefined>;
  /** Moves the content to the main thread and returns it. */
  content(): Promise<Buffer>;
  /** Returns the bytes of the record of each given row. The bytes are valid until the content is released. */
  records(rows: Uint32Array): Promise<readonly Uint8Array[]>;
  /**
   * Replaces the records of some rows with the bytes of new items. Only a step that declares `replaces: true`
   * may call this.
   */
  replace(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<void>;
  /** Returns the item of a row. The content must be on the main thread. */
  itemOf(row: number): unknown;
  /**
   * Adds another reader of the file. The memory is freed once all readers have called `release`. After this
   * call, no record may be replaced.
   */
  share(): void;
  /**
   * Frees the memory of the content once all readers have called `release`. All views of the content become
   * empty.
   */
  release(): void;
  /**
   * Like `release`, but does not free content that is on the main thread, because items that are views of
   * this content are still in use.
   */
  leave(): void;
}

type RoutedItem = (tag: string, item: unknown) => unknown;

/** The distinct combinations of tags. Each combination is a list of tags. */
type TagSets = readonly (readonly string[])[];

interface RowTags {
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
  readonly item?: RoutedItem | undefined;
}

/**
 * The rows that have passed the steps so far. They are rows of a decoded file or items of another source.
 * Both classes have the same methods, so that a step works with either.
 */
export type Rows = StoredRows | ItemRows;

/**
 * Rows of a decoded file: their indexes, and the columns of the file. Each step returns a list of rows of the
 * same file.
 */
export class StoredRows {
  readonly file: DecodedRows;
  /**
   * For each row in this list, its index in the file, in ascending order. After `routeByTag`, a row is listed
   * once for each of its tags.
   */
  readonly rows: Uint32Array;
  /** For each row in `rows`, the index of its tag in `tagNames`. Absent if the flow has no `routeByTag`. */
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

  static of(file: DecodedRows): StoredRows {
    const rows = new Uint32Array(file.rows.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    return new StoredRows(file, rows);
  }

  get count(): number {
    return this.rows.length;
  }

  get bounds(): FileRecords {
    return this.file.rows;
  }

  /** The number of rows of the file. Columns cover all of them. */
  get columnSize(): number {
    return this.bounds.count;
  }

  /**
   * Returns the data of a column. It covers all rows of the file, including rows that are not in
   * this list.
   *
   * @throws Error if the column was not read
   */
  column<Data>(column: RecordColumn<Data>): Data {
    const data = this.file.columns.get(column as RecordColumn);
    if (data === undefined) throw new Error(`The column ${column.kind.name} is not read`);
    return data as Data;
  }

  slice(from: number, to: number): StoredRows {
    const { file, rows, tags, tagNames } = this;
    return new StoredRows(file, rows.subarray(from, to), {
      tags: tags?.subarray(from, to),
      tagNames,
      item: this.#routed,
    });
  }

  /**
   * Returns the rows for which `test` returns true. Calls `test` once for each row, in order. Must not be
   * used after `routeByTag`.
   */
  filter(test: (row: number) => boolean): StoredRows {
    const { file, rows } = this;
    const passed = new Uint32Array(rows.length);
    let count = 0;
    // Loops over an index, because an iterator would make V8 compile more code in each run.
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      if (test(row)) passed[count++] = row;
    }
    return new StoredRows(file, passed.subarray(0, count));
  }

  /**
   * Lists each row once for each of its tags.
   *
   * @param sets For each row of the file, the index in `tagSets` of its combination of tags.
   * @param item Creates the item for a row and a tag.
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

  records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    return this.file.records(rows);
  }

  async replaced(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<StoredRows> {
    await this.file.replace(items);
    return this;
  }

  item(row: number): unknown {
    return this.file.itemOf(row);
  }

  /**
   * Lets the thread that holds the content encode the rows of `list` in blocks, then releases the file.
   * `ends[i]` is the index in `list` after the last row of block `i`.
   *
   * @param encoding The index that `Engine.add` returned for the reader with this encoding.
   * @param encodeHere Encodes items on the main thread. It is called if the thread cannot encode a row, in
   *   order to throw the exact error.
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
      file.release();
    }
  }

  /** Returns the items. They are views of the content of the file. */
  async items(): Promise<unknown[]> {
    const { file, rows, tags, tagNames } = this;
    await file.content();
    return Array.from(rows, (row, index) => {
      const item = file.itemOf(row);
      return tags === undefined ? item : this.#routed!(tagNames![tags[index]!]!, item);
    });
  }
}

// A separate function, because V8 optimises a short loop over typed arrays sooner than a long function.
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

/**
 * Reads the columns of items. The function that reads a column may hold much state, so it is created only
 * once for each run.
 */
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
 * Items as rows, for a source without decoded files, such as the pages of a search. A column is read when a
 * step needs it.
 */
export class ItemRows implements Records {
  /** The item of each row. Reading a column may rewrite the items. */
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
      if (this.items[row] === undefined) continue;
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
 * Returns an array of zeros and an array of ones, each with at least `count` elements. Nobody writes to them,
 * so all batches share them instead of creating new arrays.
 */
function filled(count: number): typeof constant {
  if (count > constant.zeros.length)
    constant = { zeros: new Uint32Array(2 * count), ones: new Uint32Array(2 * count).fill(1) };
  return constant;
}

export type EngineBatch =
  | {
      readonly rows: StoredRows;
      readonly items?: undefined;
      readonly cursor?: Cursor | undefined;
      readonly origin?: string | undefined;
    }
  | (Batch<unknown> & { readonly rows?: undefined });

/** Converts a batch to items that its reader can keep. */
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
