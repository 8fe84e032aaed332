import { type FileRecords, moveRecords } from './file-records.js';
import type { RecordColumn } from './record-columns.js';
import type { DecodedRows, OpenFileRange, RowList } from './rows.js';
import { answerOfThread, type EngineThread } from './worker-thread.js';

interface DecodedContents {
  /** The start and the length of each row in the file. The bytes of the rows may be on another thread. */
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  readonly messages: readonly Uint8Array[];
}

/** File content that stays on the thread that decoded the file. */
interface HeldContent {
  readonly thread: EngineThread;
  readonly file: number;
  readonly bytes: number;
  /** Called once the thread no longer holds the content. */
  onFree(): void;
}

/** A decoded file. Its content is on this thread, or on the thread that has decoded it. */
export class DecodedFile implements DecodedRows {
  readonly origin: string;
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  readonly messages: readonly Uint8Array[];
  bytes: number;
  /**
   * The items that have been created, by row. Set if several readers share the file, so that each record is
   * parsed only once.
   */
  items: Map<number, unknown> | undefined;
  #held: HeldContent | undefined;
  /** Set once the content has been requested from its thread. */
  #content: Promise<Buffer> | undefined;
  #readers = 1;
  #isKept = false;

  constructor(
    origin: string,
    { rows, columns, messages }: DecodedContents,
    held?: HeldContent | undefined,
  ) {
    this.origin = origin;
    this.rows = rows;
    this.columns = columns;
    this.messages = messages;
    this.bytes = held?.bytes ?? rows.content.length;
    this.#held = held;
    if (held === undefined) this.#content = Promise.resolve(rows.content);
  }

  share(): void {
    this.#readers++;
    this.items ??= new Map();
  }

  get isInThread(): boolean {
    return this.#held !== undefined;
  }

  async write(
    rows: Uint32Array,
    ranges: readonly OpenFileRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined> {
    const failure = await this.#ask(({ thread, file }) =>
      thread.ask('write', [file, rows, ranges], [rows]),
    );
    if (failure === undefined) return undefined;
    const { index, message, ...details } = failure;
    return { index, error: Object.assign(new Error(message), details) };
  }

  encode(list: RowList, ends: readonly number[], encoding: number) {
    return this.#ask(({ thread, file }) => thread.ask('encode', [file, encoding, list, ends]));
  }

  /**
   * Moves the content from its thread to the main thread. If several readers share the file, copies the
   * content instead, because its thread may still have to encode it for the other readers.
   */
  content(): Promise<Buffer> {
    this.#content ??= this.#fetch();
    return this.#content;
  }

  async records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    if (this.#content === undefined)
      return this.#ask(({ thread, file }) => thread.ask('records', [file, rows]));
    await this.#content;
    return Array.from(rows, row => this.rows.record(row));
  }

  /** @throws DataError if an item lacks the data that a column reads */
  async replace(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<void> {
    for (const [{ kind }, data] of this.columns)
      for (const [row, item] of items) kind.replace?.(data, row, item);
    const rows = Uint32Array.from(items.keys());
    // Copies the records, because transferring a view to another thread would transfer the whole memory
    // behind it.
    const raw = Array.from(items.values(), item => new Uint8Array(item.raw));
    if (this.#content === undefined) {
      this.#held?.thread.tell('replace', [this.#held.file, rows, raw]);
      this.bytes = moveRecords(this.bytes, this.rows, rows, raw);
    } else {
      await this.#content;
      this.rows.replace(rows, raw);
      this.#content = Promise.resolve(this.rows.content);
      this.bytes = this.rows.content.length;
    }
  }

  itemOf(row: number): unknown {
    if (this.items === undefined) return this.rows.newItem(row);
    const item = this.items.get(row) ?? this.rows.newItem(row);
    this.items.set(row, item);
    return item;
  }

  release(): void {
    if (--this.#readers !== 0) return;
    const held = this.#held;
    this.#held = undefined;
    held?.thread.tell('free', [held.file]);
    held?.onFree();
    if (this.#isKept) return;
    // A failure is ignored here, because the reader of the content reports it.
    this.#content?.then(
      () => this.rows.release(),
      () => {},
    );
  }

  leave(): void {
    this.#isKept = true;
    this.release();
  }

  async #fetch(): Promise<Buffer> {
    const isShared = this.items !== undefined;
    const { buffer, byteOffset, byteLength } = await (isShared
      ? this.#ask(({ thread, file }) => thread.ask('copy', [file]))
      : this.#take());
    this.rows.content = Buffer.from(buffer, byteOffset, byteLength);
    return this.rows.content;
  }

  async #take(): Promise<Uint8Array> {
    const held = this.#held;
    try {
      const taking = this.#ask(({ thread, file }) => thread.ask('take', [file]));
      this.#held = undefined;
      return await taking;
    } finally {
      held?.onFree();
    }
  }

  #ask<T>(call: (held: HeldContent) => Promise<T>): Promise<T> {
    if (this.#held === undefined) throw new Error('No thread holds this file');
    return answerOfThread(call(this.#held), 'held rows of', this.origin);
  }
}
