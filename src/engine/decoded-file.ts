import { StorageError } from '../errors.js';
import { releaseMemory } from '../gzip/release-memory.js';
import type { RowBlock } from '../parquet/row-block.js';
import type { Decoded } from './decode-file.js';
import type { EncodedBlock } from './encode-rows.js';
import type { ThreadCommand, ThreadReply, WriteRange } from './messages.js';
import { RowFields, type RowFieldsData } from './row-fields.js';
import type { EngineThread } from './thread.js';

/** The posts of a file, whose content is on this thread or with the one that decoded it. */
export interface DecodedFile {
  /** The file, for error messages. */
  readonly origin: string;
  /** Size of the content. */
  readonly bytes: number;
  readonly fields: RowFields;
  /** Records that are messages in place of posts. */
  readonly messages: readonly Uint8Array[];
  /** The thread that holds the content and can write it; absent where it is on this one. */
  readonly writer?: RowWriting | undefined;
  /** The content, which then no longer is with the thread. */
  content(): Promise<Buffer>;
  /** Frees the memory of the content; views of it are empty from then on. */
  release(): void;
}

/** Rows of a file, and the tags that they are routed by. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/** What a thread does with the content that it holds. */
export interface RowWriting {
  /**
   * Writes posts as lines to open files, and returns the range that could not be written.
   *
   * @throws StorageError when the thread has ended.
   */
  write(
    rows: Uint32Array,
    ranges: readonly WriteRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined>;
  /**
   * Encodes posts in blocks; `ends` has the index in `rows` behind the last of each. Resolves to `undefined` where
   * a post cannot be encoded.
   *
   * @throws StorageError when the thread has ended.
   */
  encode(posts: RowList, ends: readonly number[]): Promise<readonly EncodedBlock[] | undefined>;
  /** The same, as blocks of columns. */
  columns(posts: RowList, ends: readonly number[]): Promise<readonly RowBlock[] | undefined>;
}

/** A file that was decoded on this thread. */
export function decodedHere(origin: string, { bytes, fields, messages }: Decoded): DecodedFile {
  return {
    origin,
    bytes: bytes.length,
    fields,
    messages,
    content: async () => bytes,
    release: () => releaseMemory(bytes),
  };
}

/** A file whose content is with the thread that decoded it. */
export class FileInThread implements DecodedFile, RowWriting {
  readonly origin: string;
  readonly bytes: number;
  readonly fields: RowFields;
  readonly messages: readonly Uint8Array[];
  readonly #thread: EngineThread;
  readonly #number: number;
  readonly #onLeave: () => void;
  #isHeld = true;
  #content: Promise<Buffer> | undefined;

  constructor(
    thread: EngineThread,
    number: number,
    {
      origin,
      bytes,
      data,
      messages,
    }: {
      readonly origin: string;
      readonly bytes: number;
      readonly data: RowFieldsData;
      readonly messages: readonly Uint8Array[];
    },
    /** Called once the thread no longer holds the content. */
    onLeave: () => void,
  ) {
    this.origin = origin;
    this.bytes = bytes;
    this.fields = RowFields.of(data);
    this.messages = messages;
    this.#thread = thread;
    this.#number = number;
    this.#onLeave = onLeave;
  }

  get writer(): RowWriting | undefined {
    return this.#content === undefined ? this : undefined;
  }

  async write(rows: Uint32Array, ranges: readonly WriteRange[]) {
    const reply = await this.#ask({ kind: 'write', file: this.#number, rows, ranges }, [
      rows.buffer as ArrayBuffer,
    ]);
    if (reply.kind !== 'written' || reply.failure === undefined) return undefined;
    const { index, message, ...details } = reply.failure;
    return { index, error: Object.assign(new Error(message), details) };
  }

  async encode(posts: RowList, ends: readonly number[]) {
    const reply = await this.#askToEncode(posts, ends);
    return reply.kind === 'encoded' ? reply.blocks : undefined;
  }

  async columns(posts: RowList, ends: readonly number[]) {
    const reply = await this.#askToEncode(posts, ends);
    return reply.kind === 'columns' ? reply.blocks : undefined;
  }

  content(): Promise<Buffer> {
    this.#content ??= this.#take();
    return this.#content;
  }

  release(): void {
    if (this.#content !== undefined) {
      // A failure is that of the reader of the content.
      this.#content.then(releaseMemory, () => {});
      return;
    }
    if (!this.#isHeld) return;
    if (!this.#thread.failed) this.#thread.tell({ kind: 'free', file: this.#number });
    this.#leave();
  }

  #askToEncode({ rows, tags, tagNames }: RowList, ends: readonly number[]) {
    return this.#ask({ kind: 'encode', file: this.#number, rows, tags, tagNames, ends });
  }

  async #take(): Promise<Buffer> {
    try {
      const reply = await this.#ask({ kind: 'send', file: this.#number });
      if (reply.kind !== 'sent') throw new Error(`Expected the content, got ${reply.kind}`);
      const { buffer, byteOffset, byteLength } = reply.bytes;
      return Buffer.from(buffer, byteOffset, byteLength);
    } finally {
      this.#leave();
    }
  }

  #leave(): void {
    this.#isHeld = false;
    this.#onLeave();
  }

  async #ask(command: ThreadCommand, transfer?: ArrayBuffer[]): Promise<ThreadReply> {
    try {
      return await this.#thread.ask(command, transfer);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError(
        `The thread that held posts of ${this.origin} ended before they were written (${reason}). Run again`,
        { path: this.origin, cause },
      );
    }
  }
}
