import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/byte-codes.js';

const LINE_FEED = Buffer.of(LF);

/** What a record is: an item of the flow, or something else that the file contains. */
export interface RecordKind<T = unknown> {
  /** The name that threads know it by. */
  readonly name: string;
  /**
   * Returns -1 if the record is not an item, else a number that columns may use, such as where its id is from its start.
   * The record does not start with a byte order mark or space.
   */
  mark(content: Buffer, start: number, end: number): number;
  /** The item of a record. Views of the record stay valid as long as the item. */
  item(record: Buffer): T;
  /**
   * V8 discards the optimised code for objects of a class when a garbage collection finds none of them, such as
   * between two files. These stay.
   */
  readonly staying?: readonly unknown[];
}

/** Records as columns read them: from a decoded file, or from items of another source. */
export interface Records extends RowBounds {
  /** The bytes of all records. Empty for items, each of which has its own. */
  readonly content: Buffer;
  readonly count: number;
  /** The size of all bytes. */
  readonly byteLength: number;
  /** What the kind of the records returned for each: 0 for items. */
  readonly marks: Uint32Array;
  /** The item of a row, created once for all columns. */
  item(row: number): unknown;
  /** Calls `use` with the bytes of each row, except for rows that a column has dropped: they have no bytes. */
  each(use: (row: number, content: Buffer, start: number, end: number) => void): void;
  /** Replaces all records. The earlier content is unused from then on. */
  rewrite(written: RewrittenRecords, itemOf: (record: Buffer) => unknown): void;
}

/** The new bytes of all records, and where each is. A record without bytes is dropped. */
export interface RewrittenRecords extends RowBounds {
  readonly content: Buffer;
}

/** Where records are in the content of their file. */
export interface RowBounds {
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
}

/** The content of a decoded file on the thread that holds it, and where its rows are. A row is a record that is an item. */
export class FileRecords implements Records {
  /** Replaced if a column or a step makes records longer. */
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

  /** Rows whose content is on another thread. */
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

  /** A copy of where the rows are. */
  bounds(): RowBounds {
    return { starts: this.starts.slice(0, this.count), lengths: this.lengths.slice(0, this.count) };
  }

  add(start: number, length: number, mark = 0): void {
    if (this.count === this.starts.length) this.#grow();
    this.marks[this.count] = mark;
    this.starts[this.count] = start;
    this.lengths[this.count++] = length;
  }

  /** The item of a row, a view of the content. */
  newItem(row: number): unknown {
    return this.#kind.item(this.record(row));
  }

  item(row: number): unknown {
    this.#items[row] ??= this.newItem(row);
    return this.#items[row];
  }

  /** The bytes of a row, as a view. */
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

  /** Forgets the items, which describe records as they were, and keep memory. */
  forgetItems(): void {
    this.#items = [];
  }

  /** The lines of the rows from one index up to another, as views. Copying them to one buffer takes longer than a write of many. */
  lines(rows: Uint32Array, from: number, to: number): Buffer[] {
    const { content, starts, lengths } = this;
    const pieces: Buffer[] = [];
    for (let index = from; index < to; ) {
      const start = starts[rows[index]!]!;
      let end = start + lengths[rows[index++]!]!;
      // Records that follow each other in both files, with one line feed between them, are one piece.
      while (index < to && starts[rows[index]!] === end + 1 && content[end] === LF)
        end += 1 + lengths[rows[index++]!]!;
      if (content[end] === LF) pieces.push(content.subarray(start, end + 1));
      else pieces.push(content.subarray(start, end), LINE_FEED);
    }
    return pieces;
  }

  /** Replaces records. If the new ones need more space, the memory of the first content is released. */
  replace(rows: Uint32Array, records: readonly Uint8Array[]): void {
    const before = this.content;
    const size = moveRecords(before.length, this, rows, records);
    if (size > before.length) {
      // It may be transferred, so it must not share Node's pool.
      this.content = Buffer.allocUnsafeSlow(size);
      before.copy(this.content);
      releaseMemory(before);
    }
    // What follows a record stays: another one may begin there, on the same line.
    for (const [at, record] of records.entries()) this.content.set(record, this.starts[rows[at]!]!);
  }

  /** Frees the memory; views of it are empty from then on. */
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

/** Decides where records go that replace others: longer ones to the end of the content. Returns its new size. */
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
