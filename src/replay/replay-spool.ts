import { LineFramer } from '../json/line-framer.js';
import { SpoolFile } from '../storage/spool-file.js';

const SEPARATOR = Buffer.from('\r\n');
/** The maximum number of chunks in one write, and the size of a read. */
const MAX_CHUNKS = 1_000;
const READ_BYTES = 256 * 1024;
/** The number of bytes that may wait for the disk before `add` waits. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** Records from the spool have no limits, because they were checked when they arrived. */
const NO_LIMITS = { maxBytes: Number.POSITIVE_INFINITY, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Holds the records of one connection, up to a size in memory, and the rest in a temporary file. The service
 * is therefore read at its own speed, and does not disconnect a slow consumer.
 */
export class ReplaySpool {
  readonly #folder: string;
  readonly #maxMemory: number;
  #memory: (readonly Buffer[])[] = [];
  #bytes = 0;
  #file: SpoolFile | undefined;
  /** Chunks that are not part of the current write. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;

  constructor(folder: string, maxMemory: number) {
    this.#folder = folder;
    this.#maxMemory = maxMemory;
  }

  /** The number of added bytes, including separators. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether records are written to disk. */
  get spilled(): boolean {
    return this.#bytes > this.#maxMemory;
  }

  /**
   * Adds records. Resolves before they are on disk, unless too many bytes wait.
   *
   * @throws StorageError even for an earlier write
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

  /** Yields all records in order. They can be read only once, because each is released after reading. */
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

  /** Discards the remaining records, and accepts no more. */
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

  /** Writes the waiting chunks. Never rejects: the next `add` or `read` throws the error. */
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
    // This runs in the same turn of the event loop as the last check, so that the next `add` starts
    // a new write.
    this.#writing = undefined;
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/**
 * Returns the records with their separators, without a copy. Records that are adjacent in memory
 * have their separators between them, and become one chunk. The garbage collector would need more
 * time for thousands of long-lived objects than it takes to find the records again.
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
