import { LINE_FEED, type Line } from '../line.js';
import { type Buffers, MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, nextSize } from './buffers.js';
import type { WrittenFile } from './written.js';

/** A file as a checkpoint counts it. */
export interface FileCounts extends WrittenFile {
  /** Bytes of its lines before compression. */
  readonly lineBytes: number;
}

/** What a file needs of all outputs together. */
export interface Writer {
  readonly buffers: Buffers;
  /** Told when the file has lines that are not on disk. */
  changed(file: OutputFile): void;
  /** Puts whole lines at the end of the file and returns the bytes that they took there. */
  append(file: OutputFile, lines: Buffer, posts: number): Promise<number>;
  /** Takes what `append` threw; nothing is appended any more. */
  fail(error: unknown): void;
}

/** What files that are being written are called besides. */
export const PART = '.part';

/** One file on its way: lines are gathered in memory and written in large pieces, in order. */
export class OutputFile {
  readonly path: string;
  /** On disk, in the part. */
  posts: number;
  bytes: number;
  /** Of all lines so far, those in memory included. */
  lineBytes: number;
  /** Whether this run has yet to make the file; what an earlier one left under its name goes then. */
  fresh: boolean;
  /** Of the part, as the disk counts files; 0 before it is known. */
  ino = 0;
  readonly #writer: Writer;
  #buffer: Buffer | undefined;
  #used = 0;
  #gathered = 0;
  #size = MIN_BUFFER_BYTES;
  /** The writes that are on their way; nothing for most of many files. */
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
    this.#gathered++;
    this.lineBytes += length;
  }

  /** Sends what is gathered on its way, behind what is on its way already. */
  flush(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const lines = buffer.subarray(0, this.#used);
    const posts = this.#gathered;
    this.#size = nextSize(this.#size, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    this.#gathered = 0;
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
