import { LINE_FEED, type Line } from '../line.js';
import { type Buffers, MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, nextSize } from './buffers.js';
import type { WrittenFile } from './written.js';

/** A file's entry in a checkpoint. */
export interface FileCounts extends WrittenFile {
  /** Bytes of its lines before compression. */
  readonly lineBytes: number;
}

/** What an output file shares with the others. */
export interface Writer {
  readonly buffers: Buffers;
  /** Called when the file has lines that are not on disk. */
  changed(file: OutputFile): void;
  /** Appends whole lines to the file and returns how many bytes they took there. */
  append(file: OutputFile, lines: Buffer, posts: number): Promise<number>;
  /** Called with what `append` threw; nothing is appended afterwards. */
  fail(error: unknown): void;
}

/** The suffix of a file that is being written. */
export const PART = '.part';

/** A file being written: lines are collected in memory and written in large blocks, in order. */
export class OutputFile {
  readonly path: string;
  /** On disk, in the part. */
  posts: number;
  bytes: number;
  /** Of all lines so far, including those in memory. */
  lineBytes: number;
  /** Whether this run has yet to create the file and to remove what an earlier one left under its name. */
  fresh: boolean;
  /** Of the part, as the disk counts files; 0 before it is known. */
  ino = 0;
  readonly #writer: Writer;
  #buffer: Buffer | undefined;
  #used = 0;
  #collected = 0;
  #size = MIN_BUFFER_BYTES;
  /** The running writes; unset for most of many files. */
  #queue: Promise<void> | undefined;

  constructor(path: string, writer: Writer, before?: FileCounts) {
    this.path = path;
    this.#writer = writer;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
  }

  get part(): string {
    return this.path + PART;
  }

  add(line: Line): void {
    const length = line.byteLength + 1;
    let buffer = this.#buffer;
    if (buffer === undefined || this.#used + length > buffer.length) {
      this.flush();
      buffer = this.#begin(length);
    }
    buffer.set(line, this.#used);
    this.#used += length;
    buffer[this.#used - 1] = LINE_FEED;
    this.#collected++;
    this.lineBytes += length;
  }

  /** Queues the collected lines behind the running writes. */
  flush(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const lines = buffer.subarray(0, this.#used);
    const posts = this.#collected;
    this.#size = nextSize(this.#size, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    this.#collected = 0;
    const queue = (this.#queue ?? Promise.resolve()).then(async () => {
      try {
        const bytes = await this.#writer.append(this, lines, posts);
        this.bytes += bytes;
        this.posts += posts;
      } catch (error) {
        this.#writer.fail(error);
      }
      this.#writer.buffers.give(buffer);
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }

  /** The counts once all lines up to now are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    this.flush();
    const { path, lineBytes } = this;
    const counts = () => ({ path, posts: this.posts, bytes: this.bytes, lineBytes });
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  #begin(length: number): Buffer {
    while (this.#size < length && this.#size < MAX_BUFFER_BYTES)
      this.#size = nextSize(this.#size, this.#size);
    this.#buffer = this.#writer.buffers.take(Math.max(this.#size, length));
    this.#writer.changed(this);
    return this.#buffer;
  }
}
