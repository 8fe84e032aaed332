import type { EncodedBlock } from '../../engine/encode-rows.js';
import type { Buffers } from './buffers.js';
import type { WrittenFile } from './written.js';

/** A file's entry in a checkpoint. */
export interface FileCounts extends WrittenFile {
  /** Bytes of its records before compression. */
  readonly lineBytes: number;
}

/** What the output files of a run share. */
export interface Writer {
  readonly buffers: Buffers;
  /** Called when the file has items that are not on disk. */
  changed(file: OutputFile): void;
  /** Writes a block at the end of the file, and returns how many bytes it took there. */
  append(file: OutputFile, block: Uint8Array, posts: number, isEncoded: boolean): Promise<number>;
  /** Called with what `append` threw; nothing is appended afterwards. */
  fail(error: unknown): void;
}

/** What a checkpoint has in place of the number of a branch, for the file of the records that could not be used. */
export const DAMAGED = 'damaged';

/** The suffix of a file that is being written. */
export const PART = '.part';

/** A file being written: items are collected in memory and written in large blocks, in order. */
export abstract class OutputFile {
  readonly path: string;
  /** On disk, in the part. */
  posts: number;
  bytes: number;
  /** Of all items so far, including those in memory, before compression. */
  lineBytes: number;
  /** Whether this run has not created the file yet; an earlier one may have left a part of that name. */
  fresh: boolean;
  /** The inode of the part; 0 before it is known. */
  ino = 0;
  /** Whether the file has its final name. */
  named = false;
  protected readonly writer: Writer;
  /** Of the blocks that other threads have encoded, counted in their turn: their size is not known before. */
  #encodedLineBytes = 0;
  /** The running writes; unset for most of many files. */
  #queue: Promise<void> | undefined;

  constructor(path: string, writer: Writer, before?: FileCounts) {
    this.path = path;
    this.writer = writer;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
  }

  get part(): string {
    return this.path + PART;
  }

  /** Memory of the collected items, in bytes. */
  abstract get heldBytes(): number;

  /** Queues the collected items behind the running writes. */
  abstract flush(): void;

  /** The counts once all items up to now are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    this.flush();
    const { path } = this;
    const lineBytes = this.lineBytes - this.#encodedLineBytes;
    const counts = () => ({
      path,
      posts: this.posts,
      bytes: this.bytes,
      lineBytes: lineBytes + this.#encodedLineBytes,
    });
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  /** Waits for the running writes. */
  async idle(): Promise<void> {
    await this.#queue;
  }

  /**
   * Queues a write that another thread makes. Threads may end in any order, and a commit counts what is before its
   * cursor, so it is counted in its turn.
   */
  protected wait(posts: number, bytes: number, write: Promise<boolean>): void {
    const queue = (this.#queue ?? Promise.resolve())
      .then(() => write)
      .then(isWritten => {
        if (isWritten) {
          this.bytes += bytes;
          this.posts += posts;
        }
        if (this.#queue === queue) this.#queue = undefined;
      });
    this.#queue = queue;
  }

  protected write(block: Uint8Array, posts: number, done: () => void): void {
    this.#append(posts, async () => ({ block, isEncoded: false, done }));
  }

  /** Queues a block that another thread encodes. Rejects nothing: a failure ends the run. */
  protected writeEncoded(posts: number, encoded: Promise<EncodedBlock>): void {
    const { buffers } = this.writer;
    this.#append(posts, async () => {
      const { bytes: block, lineBytes } = await encoded;
      this.#encodedLineBytes += lineBytes;
      this.lineBytes += lineBytes;
      return { block, isEncoded: true, done: () => buffers.hold(-block.byteLength) };
    });
  }

  #append(posts: number, blockOf: () => Promise<QueuedBlock>): void {
    const queue = (this.#queue ?? Promise.resolve()).then(async () => {
      let queued: QueuedBlock | undefined;
      try {
        queued = await blockOf();
        const { block, isEncoded } = queued;
        const bytes = await this.writer.append(this, block, posts, isEncoded);
        this.bytes += bytes;
        this.posts += posts;
      } catch (error) {
        this.writer.fail(error);
      }
      queued?.done();
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }
}

interface QueuedBlock {
  readonly block: Uint8Array;
  readonly isEncoded: boolean;
  done(): void;
}
