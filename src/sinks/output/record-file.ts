import type { EncodedBlock } from '../../engine/encode-rows.js';
import { LINE_FEED } from '../line.js';
import { MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, nextSize } from './buffers.js';
import type { RecordFormat } from './format.js';
import { type FileCounts, OutputFile, type Writer } from './output-file.js';

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

  get heldBytes(): number {
    return this.#used;
  }

  add(record: Uint8Array): void {
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
    this.write(records, posts, () => this.writer.buffers.give(buffer));
  }

  /**
   * Allocates space for a record that another thread writes, with a line feed after it, and returns its
   * position; in a file that is compressed, that within its lines.
   */
  allocate(byteLength: number): number {
    this.flush();
    const position = this.lineBytes;
    this.lineBytes += byteLength + 1;
    return position;
  }

  /** Queues posts that another thread encodes as a block. */
  addEncoded(posts: number, encoded: Promise<EncodedBlock>): void {
    if (this.lineBytes === 0 && this.#format.header !== undefined) this.#begin(0);
    this.flush();
    this.writer.changed(this);
    this.writeEncoded(posts, encoded);
  }

  /** Counts records in allocated space once `write` resolves to whether they were written. It never rejects. */
  countWhenWritten(posts: number, bytes: number, write: Promise<boolean>): void {
    this.writer.changed(this);
    this.wait(posts, bytes, write);
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
