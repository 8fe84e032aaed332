import type { Activity } from '../activity/activity.js';
import { StorageError } from '../errors.js';
import { releaseMemory } from '../gzip/release-memory.js';
import type { Decoded } from './decode-file.js';
import type { EncodedBlock } from './encode-rows.js';
import { FileContent, movePosts, postsIn } from './file-content.js';
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
  /** Its posts as items, by row, where several readers use the same. */
  readonly activities?: Map<number, Activity> | undefined;
  /** The thread that holds the content, and can write and encode it; absent where it is on this one. */
  readonly thread?: HoldingThread | undefined;
  /** The content, which the thread then no longer holds. */
  content(): Promise<Buffer>;
  /** The content, or a copy of what a thread holds and goes on to hold. */
  copy(): Promise<Buffer>;
  /** Some of the posts, valid until the content is released. */
  posts(rows: Uint32Array): Promise<readonly Uint8Array[]>;
  /** Puts other posts with the same ids and rules in the place of some. */
  replace(rows: Uint32Array, posts: readonly Activity[]): void;
  /** Frees the memory of the content; views of it are empty from then on. */
  release(): void;
  /** Frees only what other threads hold: the reader that has taken the content goes on to use it. */
  leave(): void;
}

/** Rows of a file, and the tags that they are routed by. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/** What a thread does with the content that it holds. */
export interface HoldingThread {
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
   * @param encoding What `Engine.add` has returned for it.
   * @throws StorageError when the thread has ended.
   */
  encode(
    posts: RowList,
    ends: readonly number[],
    encoding: number,
  ): Promise<readonly EncodedBlock[] | undefined>;
}

/** A file that was decoded on this thread. */
export class FileHere implements DecodedFile {
  readonly origin: string;
  readonly fields: RowFields;
  readonly messages: readonly Uint8Array[];
  readonly #content: FileContent;

  constructor(origin: string, { bytes, fields, messages }: Decoded) {
    this.origin = origin;
    this.fields = fields;
    this.messages = messages;
    this.#content = new FileContent(bytes, fields);
  }

  get bytes(): number {
    return this.#content.bytes.length;
  }

  async content(): Promise<Buffer> {
    return this.#content.bytes;
  }

  copy(): Promise<Buffer> {
    return this.content();
  }

  async posts(rows: Uint32Array): Promise<readonly Buffer[]> {
    return this.#content.posts(rows);
  }

  replace(rows: Uint32Array, posts: readonly Activity[]): void {
    setKeys(this.fields, rows, posts);
    this.#content.replace(rows, rawOf(posts));
  }

  release(): void {
    this.#content.release();
  }

  leave(): void {}
}

/** A file whose content is with the thread that decoded it. */
export class FileInThread implements DecodedFile, HoldingThread {
  readonly origin: string;
  bytes: number;
  readonly fields: RowFields;
  readonly messages: readonly Uint8Array[];
  readonly #worker: EngineThread;
  readonly #number: number;
  readonly #onLeave: () => void;
  #isHeld = true;
  #content: Promise<Buffer> | undefined;

  constructor(
    worker: EngineThread,
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
    this.#worker = worker;
    this.#number = number;
    this.#onLeave = onLeave;
  }

  get thread(): HoldingThread | undefined {
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

  async encode(posts: RowList, ends: readonly number[], encoding: number) {
    const { rows, tags, tagNames } = posts;
    const reply = await this.#ask({
      kind: 'encode',
      encoding,
      file: this.#number,
      rows,
      tags,
      tagNames,
      ends,
    });
    return reply.kind === 'encoded' ? reply.blocks : undefined;
  }

  content(): Promise<Buffer> {
    this.#content ??= this.#take();
    return this.#content;
  }

  copy(): Promise<Buffer> {
    return this.#content ?? this.#askForContent('copy');
  }

  async posts(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    if (this.#content !== undefined) return postsIn(await this.#content, this.fields, rows);
    const reply = await this.#ask({ kind: 'posts', file: this.#number, rows });
    if (reply.kind !== 'posts') throw new Error(`Expected posts, got ${reply.kind}`);
    return reply.posts;
  }

  replace(rows: Uint32Array, posts: readonly Activity[]): void {
    const raw = rawOf(posts);
    setKeys(this.fields, rows, posts);
    this.bytes = movePosts(this.bytes, this.fields, rows, raw);
    if (!this.#worker.failed)
      this.#worker.tell({ kind: 'replace', file: this.#number, rows, posts: raw });
  }

  release(): void {
    if (this.#content !== undefined) {
      // A failure is that of the reader of the content.
      this.#content.then(releaseMemory, () => {});
      return;
    }
    this.leave();
  }

  leave(): void {
    if (this.#content !== undefined || !this.#isHeld) return;
    if (!this.#worker.failed) this.#worker.tell({ kind: 'free', file: this.#number });
    this.#leave();
  }

  async #take(): Promise<Buffer> {
    try {
      return await this.#askForContent('send');
    } finally {
      this.#leave();
    }
  }

  async #askForContent(kind: 'send' | 'copy'): Promise<Buffer> {
    const reply = await this.#ask({ kind, file: this.#number });
    if (reply.kind !== 'sent') throw new Error(`Expected the content, got ${reply.kind}`);
    const { buffer, byteOffset, byteLength } = reply.bytes;
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  #leave(): void {
    this.#isHeld = false;
    this.#onLeave();
  }

  async #ask(command: ThreadCommand, transfer?: ArrayBuffer[]): Promise<ThreadReply> {
    try {
      return await this.#worker.ask(command, transfer);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError(
        `The thread that held posts of ${this.origin} ended before they were written (${reason}). Run again`,
        { path: this.origin, cause },
      );
    }
  }
}

/** Copies, as a view takes all of its memory along to another thread. */
function rawOf(posts: readonly Activity[]): readonly Uint8Array[] {
  return posts.map(({ raw }) => new Uint8Array(raw));
}

/** @throws DataError where a post lacks a key. */
function setKeys(fields: RowFields, rows: Uint32Array, posts: readonly Activity[]): void {
  if (fields.keyNames.length === 0) return;
  for (const [at, row] of rows.entries()) fields.setKeysOf(row, posts[at]!);
}
