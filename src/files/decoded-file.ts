import { type FileRecords, moveRecords } from './file-records.js';
import type { RecordColumn } from './record-columns.js';
import type { DecodedRows, OpenFileRange, RowList } from './rows.js';
import { answerOfThread, type EngineThread } from './worker-thread.js';

/** What is known of a decoded file on the main thread. */
interface DecodedContents {
  /** The records of the file. A thread may hold their content. */
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  /** Records that are not items, such as messages of the service. */
  readonly messages: readonly Uint8Array[];
}

/** The content of a file that a thread has decoded, and holds. */
interface HeldContent {
  readonly thread: EngineThread;
  /** The number that the thread knows it by. */
  readonly file: number;
  readonly bytes: number;
  /** Called once the thread no longer holds it. */
  onFree(): void;
}

/** A decoded file, whose content is on this thread or with the one that decoded it. */
export class DecodedFile implements DecodedRows {
  /** The file, for error messages. */
  readonly origin: string;
  readonly rows: FileRecords;
  readonly columns: ReadonlyMap<RecordColumn, unknown>;
  readonly messages: readonly Uint8Array[];
  /** Size of the content. */
  bytes: number;
  /** If several readers share the file, its items by row: what one has parsed is not parsed again for another. */
  items: Map<number, unknown> | undefined;
  #held: HeldContent | undefined;
  /** Set from the moment on when the content comes to this thread. */
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

  /** Adds a reader, which releases the file, too: its memory is freed once all have. Its records must not be replaced then. */
  share(): void {
    this.#readers++;
    this.items ??= new Map();
  }

  /** Whether a thread holds the content, and can `write` and `encode` rows. */
  get isInThread(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Lets the thread write rows as lines to open files. Resolves to the range that could not be written.
   *
   * @throws StorageError if the thread has ended.
   */
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

  /**
   * Lets the thread encode rows in blocks; `ends` has the index in `list` after the last of each. Resolves to `undefined`
   * if a row cannot be encoded.
   *
   * @param encoding What `Engine.add` has returned for it.
   * @throws StorageError if the thread has ended.
   */
  encode(list: RowList, ends: readonly number[], encoding: number) {
    return this.#ask(({ thread, file }) => thread.ask('encode', [file, encoding, list, ends]));
  }

  /** The content, which the thread then no longer holds. If readers share it, others have it encoded there: a copy. */
  content(): Promise<Buffer> {
    this.#content ??= this.#fetch();
    return this.#content;
  }

  /** Some of the records, valid until the content is released. */
  async records(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    if (this.#content === undefined)
      return this.#ask(({ thread, file }) => thread.ask('records', [file, rows]));
    await this.#content;
    return Array.from(rows, row => this.rows.record(row));
  }

  /**
   * Replaces records by the records of items. The step that does so must have set `replaces`.
   *
   * @throws DataError if an item lacks what a column reads.
   */
  async replace(items: ReadonlyMap<number, { readonly raw: Uint8Array }>): Promise<void> {
    for (const [{ kind }, data] of this.columns)
      for (const [row, item] of items) kind.replace?.(data, row, item);
    const rows = Uint32Array.from(items.keys());
    // Copies, as a view takes all of its memory along to another thread.
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

  /** The item of a row, whose content is on this thread. */
  itemOf(row: number): unknown {
    if (this.items === undefined) return this.rows.newItem(row);
    const item = this.items.get(row) ?? this.rows.newItem(row);
    this.items.set(row, item);
    return item;
  }

  /** Frees the memory of the content; views of it are empty from then on. */
  release(): void {
    if (--this.#readers !== 0) return;
    const held = this.#held;
    this.#held = undefined;
    held?.thread.tell('free', [held.file]);
    held?.onFree();
    if (this.#isKept) return;
    // The reader of the content reports a failure.
    this.#content?.then(
      () => this.rows.release(),
      () => {},
    );
  }

  /** Frees only memory that other threads hold: the reader that has taken the content still uses it. */
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
