import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/byte-codes.js';

const LINE_FEED = Buffer.of(LF);

/** Distinguishes the items of a flow from the other records in a file, such as messages of the service. */
export interface RecordKind<T = unknown> {
  /** The name by which threads look up this kind, because functions cannot be sent to a thread. */
  readonly name: string;
  /**
   * Returns -1 if the record is not an item. Otherwise returns a number that columns use, such as the offset
   * of the id within the record. The record does not start with a byte order mark or white space.
   */
  mark(content: Buffer, start: number, end: number): number;
  /** Creates the item for a record. The item may keep views of the record. */
  item(record: Buffer): T;
  /**
   * Objects that are never freed. If a garbage collection finds no object of a class, for example
   * between two files, V8 discards the optimised code for the class. These objects prevent that.
   */
  readonly staying?: readonly unknown[];
}

/**
 * The records from which columns are read: the records of a decoded file, or the items of another source.
 */
export interface Records extends RowBounds {
  /** The bytes of all records, one after another. Empty if the records are items, which have their own bytes. */
  readonly content: Buffer;
  readonly count: number;
  readonly byteLength: number;
  /**
   * For each record, the number that `RecordKind.mark` returned for columns, such as the offset of the post's
   * id. All are 0 if the records are items.
   */
  readonly marks: Uint32Array;
  /** Returns the item of a row. It is created once and shared by all columns. */
  item(row: number): unknown;
  /**
   * Calls `use` with the bytes of each row. Skips rows that a column has dropped, because these have no
   * bytes.
   */
  each(use: (row: number, content: Buffer, start: number, end: number) => void): void;
  /** Replaces all records. The earlier content is then no longer used. */
  rewrite(written: RewrittenRecords, itemOf: (record: Buffer) => unknown): void;
}

/** The new bytes of all records, and their positions. A record with length 0 has been dropped. */
export interface RewrittenRecords extends RowBounds {
  readonly content: Buffer;
}

export interface RowBounds {
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
}

/**
 * The rows of a decoded file: their positions, and their bytes in `content`. Records that are not items, such
 * as messages of the service, are not rows. If another thread holds the bytes, `content` is empty.
 */
export class FileRecords implements Records {
  /**
   * The bytes of the file. A new buffer replaces this one if a step makes records longer, or if a
   * column rewrites the records.
   */
  content: Buffer;
  count = 0;
  starts: Uint32Array;
  lengths: Uint32Array;
  marks: Uint32Array;
  readonly #kind: RecordKind;
  #items: unknown[] = [];

  /** @param room The expected number of rows. */
  constructor(content: Buffer, kind: RecordKind, room: number) {
    this.content = content;
    this.#kind = kind;
    this.starts = new Uint32Array(room);
    this.lengths = new Uint32Array(room);
    this.marks = new Uint32Array(room);
  }

  /** Creates the rows of a file whose bytes another thread holds. `content` is empty. */
  static elsewhere(kind: RecordKind, { starts, lengths }: RowBounds): FileRecords {
    const rows = new FileRecords(Buffer.alloc(0), kind, 0);
    rows.count = starts.length;
    rows.starts = starts;
    rows.lengths = lengths;
    return rows;
  }

  get byteLength(): number {
    return this.content.length;
  }

  bounds(): RowBounds {
    return { starts: this.starts.slice(0, this.count), lengths: this.lengths.slice(0, this.count) };
  }

  add(start: number, length: number, mark = 0): void {
    if (this.count === this.starts.length) this.#grow();
    this.marks[this.count] = mark;
    this.starts[this.count] = start;
    this.lengths[this.count++] = length;
  }

  /** Creates the item of a row, as a view of the content. */
  newItem(row: number): unknown {
    return this.#kind.item(this.record(row));
  }

  item(row: number): unknown {
    this.#items[row] ??= this.newItem(row);
    return this.#items[row];
  }

  record(row: number): Buffer {
    const start = this.starts[row]!;
    return this.content.subarray(start, start + this.lengths[row]!);
  }

  each(use: (row: number, content: Buffer, start: number, end: number) => void): void {
    const { content, starts, lengths, count } = this;
    for (let row = 0; row < count; row++) {
      const length = lengths[row]!;
      if (length > 0) use(row, content, starts[row]!, starts[row]! + length);
    }
  }

  rewrite({ content, starts, lengths }: RewrittenRecords): void {
    releaseMemory(this.content);
    this.content = content;
    this.starts = starts;
    this.lengths = lengths;
    this.forgetItems();
  }

  /** Drops the cached items. They keep memory and may be out of date after records were replaced. */
  forgetItems(): void {
    this.#items = [];
  }

  /**
   * Returns the lines for a range of rows, as views of the content. Writing many views takes less time than
   * copying them into one buffer.
   */
  lines(rows: Uint32Array, from: number, to: number): Buffer[] {
    const { content, starts, lengths } = this;
    const pieces: Buffer[] = [];
    for (let index = from; index < to; ) {
      const start = starts[rows[index]!]!;
      let end = start + lengths[rows[index++]!]!;
      // If rows are adjacent both in the content and in the list, with one line feed between them, they are
      // returned as one piece.
      while (index < to && starts[rows[index]!] === end + 1 && content[end] === LF)
        end += 1 + lengths[rows[index++]!]!;
      if (content[end] === LF) pieces.push(content.subarray(start, end + 1));
      else pieces.push(content.subarray(start, end), LINE_FEED);
    }
    return pieces;
  }

  /** Replaces some records. If the new records need more space, releases the memory of the old content. */
  replace(rows: Uint32Array, records: readonly Uint8Array[]): void {
    const before = this.content;
    const size = moveRecords(before.length, this, rows, records);
    if (size > before.length) {
      // This memory does not come from Node's shared pool, because it may be transferred to another thread.
      this.content = Buffer.allocUnsafeSlow(size);
      before.copy(this.content);
      releaseMemory(before);
    }
    // If a new record is shorter than the old one, the rest of the old record stays in `content`, but belongs
    // to no record. It is not removed, because another record may follow on the same line.
    for (const [at, record] of records.entries()) this.content.set(record, this.starts[rows[at]!]!);
  }

  /** Frees the memory of the content. All views of it become empty. */
  release(): void {
    releaseMemory(this.content);
  }

  #grow(): void {
    const room = 2 * this.starts.length + 16;
    const starts = new Uint32Array(room);
    const lengths = new Uint32Array(room);
    starts.set(this.starts);
    lengths.set(this.lengths);
    this.starts = starts;
    this.lengths = lengths;
    const marks = new Uint32Array(room);
    marks.set(this.marks);
    this.marks = marks;
  }
}

/**
 * Updates the positions of records that are replaced. If a new record is longer than the old one, it moves to
 * the end of the content. Returns the new size of the content.
 */
export function moveRecords(
  size: number,
  { starts, lengths }: RowBounds,
  rows: Uint32Array,
  records: readonly Uint8Array[],
): number {
  let end = size;
  for (const [at, row] of rows.entries()) {
    const { length } = records[at]!;
    if (length > lengths[row]!) {
      starts[row] = end;
      end += length + 1;
    }
    lengths[row] = length;
  }
  return end;
}
