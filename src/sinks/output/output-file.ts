import { LINE_FEED } from '../line.js';
import { type Buffers, MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, nextSize } from './buffers.js';
import type { EncodedFormat, Encoder, RecordFormat } from './format.js';
import type { WrittenFile } from './written.js';

/** A file's entry in a checkpoint. */
export interface FileCounts extends WrittenFile {
  /** Bytes of its records before compression. */
  readonly lineBytes: number;
}

/** What an output file shares with the others. */
export interface Writer {
  readonly buffers: Buffers;
  /** Whether the size of a block in the file is known only once it is compressed. */
  readonly compresses: boolean;
  /** Called when the file has items that are not on disk. */
  changed(file: OutputFile): void;
  /**
   * Writes a block to the file and returns how many bytes it took there: at a position, or, where that
   * depends on earlier blocks, at the end.
   */
  append(
    file: OutputFile,
    block: Uint8Array,
    posts: number,
    position: number | undefined,
  ): Promise<number>;
  /** Called with what `append` threw; nothing is appended afterwards. */
  fail(error: unknown): void;
}

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
  /** Whether this run has yet to create the file and to remove what an earlier one left under its name. */
  fresh: boolean;
  /** Of the part, as the disk counts files; 0 before it is known. */
  ino = 0;
  /** Whether the file has its final name. */
  named = false;
  protected readonly writer: Writer;
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

  /** Queues the collected items behind the running writes. */
  abstract flush(): void;

  /** The counts once all items up to now are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    this.flush();
    const { path, lineBytes } = this;
    const counts = () => ({ path, posts: this.posts, bytes: this.bytes, lineBytes });
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  /** Waits for the running writes. */
  async idle(): Promise<void> {
    await this.#queue;
  }

  /** Counts a write that began elsewhere; it never rejects. */
  protected wait(write: Promise<void>): void {
    const queue = (this.#queue ?? Promise.resolve())
      .then(() => write)
      .then(() => {
        if (this.#queue === queue) this.#queue = undefined;
      });
    this.#queue = queue;
  }

  protected write(block: Uint8Array, posts: number, done: () => void, position?: number): void {
    const queue = (this.#queue ?? Promise.resolve()).then(async () => {
      try {
        const bytes = await this.writer.append(this, block, posts, position);
        this.bytes += bytes;
        this.posts += posts;
      } catch (error) {
        this.writer.fail(error);
      }
      done();
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }
}

/** A file of records, each with a line feed after it. */
export class RecordFile<T> extends OutputFile {
  readonly #format: RecordFormat<T>;
  #buffer: Buffer | undefined;
  #used = 0;
  #collected = 0;
  #size = MIN_BUFFER_BYTES;

  constructor(path: string, writer: Writer, format: RecordFormat<T>, before?: FileCounts) {
    super(path, writer, before);
    this.#format = format;
  }

  add(item: T, origin: string | undefined): void {
    this.addRecord(this.#format.encode(item, origin));
  }

  addRecord(record: Uint8Array): void {
    const length = record.byteLength + 1;
    let buffer = this.#buffer;
    if (buffer === undefined || this.#used + length > buffer.length) {
      this.flush();
      buffer = this.#begin(length);
    }
    this.#put(buffer, record);
    this.#collected++;
  }

  flush(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const records = buffer.subarray(0, this.#used);
    const posts = this.#collected;
    this.#size = nextSize(this.#size, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    this.#collected = 0;
    const position = this.writer.compresses ? undefined : this.lineBytes - records.length;
    this.write(records, posts, () => this.writer.buffers.give(buffer), position);
  }

  /**
   * Reserves the place of a record that another thread writes, with a line feed after it, and returns its
   * position. Only in files that are not compressed.
   */
  reserve(byteLength: number): number {
    this.flush();
    const position = this.lineBytes;
    this.lineBytes += byteLength + 1;
    return position;
  }

  /** Counts records in reserved places as written once `write` has ended. It never rejects. */
  fill(posts: number, bytes: number, write: Promise<boolean>): void {
    this.writer.changed(this);
    this.wait(
      write.then(written => {
        if (!written) return;
        this.posts += posts;
        this.bytes += bytes;
      }),
    );
  }

  /** A new file gets its header in the same block as its first record. */
  #begin(length: number): Buffer {
    const header = this.lineBytes === 0 ? this.#format.header : undefined;
    const needed = length + (header === undefined ? 0 : header.byteLength + 1);
    while (this.#size < needed && this.#size < MAX_BUFFER_BYTES)
      this.#size = nextSize(this.#size, this.#size);
    const buffer = this.writer.buffers.take(Math.max(this.#size, needed));
    this.#buffer = buffer;
    this.writer.changed(this);
    if (header !== undefined) this.#put(buffer, header);
    return buffer;
  }

  #put(buffer: Buffer, record: Uint8Array): void {
    const length = record.byteLength + 1;
    buffer.set(record, this.#used);
    this.#used += length;
    buffer[this.#used - 1] = LINE_FEED;
    this.lineBytes += length;
  }
}

/** A file that an encoder builds. */
export class EncodedFile<T> extends OutputFile {
  /** Absent once the file has ended. */
  #encoder: Encoder<T> | undefined;
  #held = 0;
  #added = 0;
  /** Of the blocks so far. */
  #blockBytes = 0;

  constructor(path: string, writer: Writer, format: EncodedFormat<T>, before?: FileCounts) {
    super(path, writer, before);
    // A file from before a crash is finished.
    if (before === undefined) this.#encoder = format.encoder();
  }

  get ended(): boolean {
    return this.#encoder === undefined;
  }

  get heldBytes(): number {
    return this.#held;
  }

  add(item: T, origin: string | undefined): void {
    const encoder = this.#encoder as Encoder<T>;
    encoder.add(item, origin);
    if (this.#added === 0) this.writer.changed(this);
    this.#added++;
    const { heldBytes } = encoder;
    this.writer.buffers.hold(heldBytes - this.#held);
    this.#held = heldBytes;
    this.lineBytes = this.#blockBytes + heldBytes;
    if (encoder.full) this.flush();
  }

  flush(): void {
    if (this.#added > 0 && this.#encoder !== undefined) this.#pass(this.#encoder.flush());
  }

  /** Writes the rest of the file. */
  end(): void {
    const encoder = this.#encoder;
    if (encoder === undefined) return;
    this.#encoder = undefined;
    this.#pass(encoder.end());
  }

  #pass(block: Uint8Array): void {
    const { buffers } = this.writer;
    const posts = this.#added;
    this.#added = 0;
    this.#blockBytes += block.byteLength;
    this.lineBytes = this.#blockBytes;
    buffers.hold(block.byteLength - this.#held);
    this.#held = 0;
    this.write(block, posts, () => buffers.hold(-block.byteLength));
  }
}
