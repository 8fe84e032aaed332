import { LineFramer } from '../json/line-framer.js';
import { SpoolFile } from '../storage/spool-file.js';

const SEPARATOR = Buffer.from('\r\n');
const MAX_CHUNKS = 1_000;
const READ_BYTES = 256 * 1024;
/** The number of bytes that may wait to be written to disk. If more bytes wait, `add` waits too. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** Records in the spool are read without limits, because the limits were checked when the records arrived. */
const NO_LIMITS = { maxBytes: Number.POSITIVE_INFINITY, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Holds the records of one connection: in memory up to a limit, then in a temporary file. The connection is
 * thus read as fast as the service sends. The service disconnects slow consumers.
 */
export class ReplaySpool {
  readonly #folder: string;
  readonly #maxMemory: number;
  #memory: (readonly Buffer[])[] = [];
  #bytes = 0;
  #file: SpoolFile | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;

  constructor(folder: string, maxMemory: number) {
    this.#folder = folder;
    this.#maxMemory = maxMemory;
  }

  /** The number of bytes that were added, including the separators between records. */
  get bytes(): number {
    return this.#bytes;
  }

  get spilled(): boolean {
    return this.#bytes > this.#maxMemory;
  }

  /**
   * Adds records. Does not wait until they are written to disk, unless more than `MAX_PENDING_BYTES` wait to
   * be written.
   *
   * @throws StorageError if this write or an earlier one failed
   */
  async add(records: readonly Buffer[]): Promise<void> {
    this.#throwFailure();
    const chunks = chunksOf(records);
    if (chunks.length === 0 || this.#closed) return;
    const bytes = bytesOf(chunks);
    this.#bytes += bytes;
    if (!this.spilled) {
      this.#memory.push(chunks);
      return;
    }
    for (const chunk of chunks) this.#pending.push(chunk);
    this.#pendingBytes += bytes;
    this.#writing ??= this.#writePending();
    if (this.#pendingBytes > MAX_PENDING_BYTES) await this.#writing;
    this.#throwFailure();
  }

  /**
   * Yields all records in order. They can be read only once, because each record is released after it is
   * read.
   */
  async *read(): AsyncGenerator<readonly Buffer[], void, undefined> {
    await this.#writing;
    this.#throwFailure();
    const framer = new LineFramer('\r\n', NO_LIMITS, undefined, { areProven: true });
    for await (const chunks of this.#chunks()) {
      const records: Buffer[] = [];
      for (const chunk of chunks) {
        const waiting = framer.push(chunk, records);
        if (waiting !== undefined) await waiting;
      }
      if (records.length > 0) yield records;
    }
    const rest: Buffer[] = [];
    await framer.end(rest);
    if (rest.length > 0) yield rest;
  }

  /** Discards the remaining records. Records that are added later are ignored. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#memory = [];
    this.#pending = [];
    await this.#writing;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async *#chunks(): AsyncGenerator<readonly Buffer[], void, undefined> {
    for (let next = this.#memory.shift(); next !== undefined; next = this.#memory.shift())
      yield next;
    if (this.#file === undefined) return;
    for await (const block of this.#file.blocks(READ_BYTES)) yield [block];
  }

  /**
   * Writes the waiting chunks. Never rejects. If a write fails, the next `add` or `read` throws its error.
   */
  async #writePending(): Promise<void> {
    try {
      this.#file ??= await SpoolFile.open('a replay', this.#folder);
      while (this.#pending.length > 0) {
        const chunks = this.#pending.splice(0, MAX_CHUNKS);
        await this.#file.write(chunks);
        this.#pendingBytes -= bytesOf(chunks);
      }
    } catch (error) {
      this.#failure = { error };
    }
    // No `await` comes between the last check of `#pending` and this line, so no chunk was added in between.
    // The next `add` starts a new write.
    this.#writing = undefined;
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/**
 * Returns the records as chunks, with a separator after each record. Does not copy the records. If only a
 * separator lies between two records in memory, both become part of one chunk. A few chunks slow down the
 * garbage collector less than thousands of records.
 */
function chunksOf(records: readonly Buffer[]): Buffer[] {
  const chunks: Buffer[] = [];
  let memory: Buffer = SEPARATOR;
  let start = 0;
  let end = 0;
  for (const { buffer, byteOffset, length } of records) {
    const follows =
      buffer === memory.buffer &&
      byteOffset === end + SEPARATOR.length &&
      memory[end] === SEPARATOR[0] &&
      memory[end + 1] === SEPARATOR[1];
    if (!follows) {
      if (end > start) chunks.push(memory.subarray(start, end), SEPARATOR);
      memory = Buffer.from(buffer);
      start = byteOffset;
    }
    end = byteOffset + length;
  }
  if (end > start) chunks.push(memory.subarray(start, end), SEPARATOR);
  return chunks;
}

function bytesOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}
