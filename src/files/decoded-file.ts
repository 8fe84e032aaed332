import type { Activity } from '../post/activity.js';
import type { Decoded } from './decode-file.js';
import type { RowList } from './encode-rows.js';
import { FileContent, movePosts } from './file-content.js';
import type { RowFields } from './row-fields.js';
import { answerOfThread, type EngineThread } from './thread.js';
import type { WriteRange } from './worker.js';

/** The content of a file that a thread has decoded, and holds. */
interface HeldContent {
  readonly thread: EngineThread;
  /** The number that the thread knows it by. */
  readonly file: number;
  readonly bytes: number;
  /** Called once the thread no longer holds it. */
  onFree(): void;
}

/** The posts of a file, whose content is on this thread or with the one that decoded it. */
export class DecodedFile {
  /** The file, for error messages. */
  readonly origin: string;
  readonly fields: RowFields;
  /** Records that are messages in place of posts. */
  readonly messages: readonly Uint8Array[];
  /** Size of the content. */
  bytes: number;
  /** Where several readers share it, its posts as items, by row: what one has parsed is not parsed again for another. */
  activities: Map<number, Activity> | undefined;
  #held: HeldContent | undefined;
  #content: Promise<FileContent> | undefined;
  #readers = 1;
  #isKept = false;

  constructor(
    origin: string,
    { fields, messages }: Pick<Decoded, 'fields' | 'messages'>,
    content: Buffer | HeldContent,
  ) {
    this.origin = origin;
    this.fields = fields;
    this.messages = messages;
    if (Buffer.isBuffer(content)) {
      this.bytes = content.length;
      this.#content = Promise.resolve(new FileContent(content, fields));
    } else {
      this.bytes = content.bytes;
      this.#held = content;
    }
  }

  /** Adds a reader, which releases it, too: its memory is freed once all of them have. Its posts must not be replaced then. */
  share(): void {
    this.#readers++;
    this.activities ??= new Map();
  }

  /** Whether a thread holds the content, and can `write` and `encode` posts. */
  get isInThread(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Lets the thread write posts as lines to open files. Resolves to the range that could not be written.
   *
   * @throws StorageError when the thread has ended.
   */
  async write(
    rows: Uint32Array,
    ranges: readonly WriteRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined> {
    const failure = await this.#ask(({ thread, file }) =>
      thread.ask('write', [file, rows, ranges], [rows]),
    );
    if (failure === undefined) return undefined;
    const { index, message, ...details } = failure;
    return { index, error: Object.assign(new Error(message), details) };
  }

  /**
   * Lets the thread encode posts in blocks; `ends` has the index in `rows` after the last of each. Resolves to `undefined`
   * where a post cannot be encoded.
   *
   * @param encoding What `Engine.add` has returned for it.
   * @throws StorageError when the thread has ended.
   */
  encode(posts: RowList, ends: readonly number[], encoding: number) {
    return this.#ask(({ thread, file }) => thread.ask('encode', [file, encoding, posts, ends]));
  }

  /** The content, which the thread then no longer holds. Where readers share it, others have it encoded there: a copy. */
  async content(): Promise<Buffer> {
    this.#content ??= this.#fetch();
    return (await this.#content).bytes;
  }

  /** Some of the posts, valid until the content is released. */
  async posts(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    const content = await this.#content;
    if (content !== undefined) return content.posts(rows);
    return this.#ask(({ thread, file }) => thread.ask('posts', [file, rows]));
  }

  /**
   * Puts other posts with the same ids and rules in the place of some. The step that does so must say that it `replaces`.
   *
   * @throws DataError where a post lacks a key.
   */
  async replace(posts: ReadonlyMap<number, Activity>): Promise<void> {
    if (this.fields.keyNames.length > 0)
      for (const [row, post] of posts) this.fields.setKeysOf(row, post);
    const rows = Uint32Array.from(posts.keys());
    // Copies, as a view takes all of its memory along to another thread.
    const raw = Array.from(posts.values(), post => new Uint8Array(post.raw));
    const content = await this.#content;
    if (content !== undefined) {
      content.replace(rows, raw);
      this.bytes = content.bytes.length;
    } else {
      this.#held?.thread.tell('replace', [this.#held.file, rows, raw]);
      this.bytes = movePosts(this.bytes, this.fields, rows, raw);
    }
  }

  /** Frees the memory of the content; views of it are empty from then on. */
  release(): void {
    if (--this.#readers !== 0) return;
    const held = this.#held;
    this.#held = undefined;
    held?.thread.tell('free', [held.file]);
    held?.onFree();
    if (this.#isKept) return;
    // A failure is that of the reader of the content.
    this.#content?.then(
      content => content.release(),
      () => {},
    );
  }

  /** Frees only what other threads hold: the reader that has taken the content goes on to use it. */
  leave(): void {
    this.#isKept = true;
    this.release();
  }

  async #fetch(): Promise<FileContent> {
    const isShared = this.activities !== undefined;
    const { buffer, byteOffset, byteLength } = await (isShared
      ? this.#ask(({ thread, file }) => thread.ask('copy', [file]))
      : this.#take());
    return new FileContent(Buffer.from(buffer, byteOffset, byteLength), this.fields);
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
    return answerOfThread(call(this.#held), 'held posts of', this.origin);
  }
}
