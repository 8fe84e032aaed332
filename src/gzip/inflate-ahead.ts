import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, type Gunzip, type ZlibOptions } from 'node:zlib';
import { GzipFile, type GzipFileOptions } from './gzip-file.js';
import { GZIP_MAGIC } from './gzip-magic.js';
import { inflatedSize } from './inflated-size.js';
import { SharedMemory } from './release-memory.js';

/**
 * Bytes inflated in one task of the thread pool: a task costs as much as inflating some 100 KiB. Memory
 * that the reader releases allows larger chunks.
 */
const CHUNK = 2 * 1024 * 1024;
const RELEASED_CHUNK = 8 * 1024 * 1024;
const SMALLEST_CHUNK = 64 * 1024;
/** The size of a block. Objects made from it live until the next block, so small blocks die young. */
const BLOCK = 256 * 1024;
/** Bytes of a damaged file for one decoder call: output of the call that fails is lost. */
const STEP = 1024;
/** A gzip header and trailer around empty data. */
const SMALLEST_FILE = 20;
/** The largest file that is held in memory as a whole. */
const LARGEST_FILE = 8 * 1024 * 1024;

export interface InflatedPart {
  readonly block: Buffer;
  readonly release?: (() => void) | undefined;
}

/**
 * Inflates a whole gzip file in the thread pool, one chunk ahead of the reader. Differs from `GzipFile`,
 * which takes files of any size in chunks, on this thread; see `takes` for the files it accepts.
 */
export class InflateAhead {
  readonly #file: Buffer;
  readonly #releases: boolean;
  readonly #gunzip: Gunzip;

  /** @param releases Whether the reader of the blocks calls their `release`. */
  constructor(file: Buffer, releases: boolean) {
    this.#file = file;
    this.#releases = releases;
    const chunk = releases ? RELEASED_CHUNK : CHUNK;
    // Chunks of equal size. One spare byte lets the decoder see the end without another chunk.
    const size = inflatedSize(file) + 1;
    const options: ZlibOptions & { readonly readableHighWaterMark: number } = {
      chunkSize: Math.max(SMALLEST_CHUNK, Math.ceil(size / Math.ceil(size / chunk))),
      readableHighWaterMark: 1,
    };
    this.#gunzip = createGunzip(options);
    // An error is thrown when the blocks are read; until then it must not end the process.
    this.#gunzip.on('error', () => {});
    this.#gunzip.end(file);
  }

  static takes(file: Buffer): boolean {
    return file[0] === GZIP_MAGIC && file.length >= SMALLEST_FILE && file.length <= LARGEST_FILE;
  }

  /** Whether the thread pool has inflated the whole file. */
  get inflated(): boolean {
    return this.#gunzip.readableEnded && this.#gunzip.bytesWritten === this.#file.length;
  }

  /**
   * The blocks, in order. Where the decoder fails or leaves bytes unread, `GzipFile` inflates the file
   * again from the start, and gives the rest and the exact error.
   */
  async *parts(options: GzipFileOptions): AsyncGenerator<InflatedPart, void, undefined> {
    const gunzip = this.#gunzip;
    const memory = this.#releases ? new ChunkMemory() : undefined;
    let given = 0;
    try {
      for await (const chunk of gunzip as AsyncIterable<Buffer>) {
        if (given + chunk.length > options.maxBytes) break;
        const shared = memory?.of(chunk);
        for (let at = 0; at < chunk.length; at += BLOCK) {
          const block = chunk.subarray(at, at + BLOCK);
          yield { block, release: shared?.share() };
          given += block.length;
        }
        // Chunks that are ready would block the event loop, which starts the next task of the pool.
        await nextTurn();
      }
    } catch {
      // `GzipFile` throws a better error below.
    }
    if (this.inflated) memory?.close();
    else for (const block of restOf(this.#file, given, options)) yield { block };
  }

  close(): void {
    this.#gunzip.destroy();
  }
}

/**
 * The memory that the decoder writes its chunks to. It fills one buffer to the end before it takes
 * another, and never comes back to a full one (a test holds that).
 */
class ChunkMemory {
  #shared: SharedMemory | undefined;
  #buffer: ArrayBufferLike | undefined;

  of(chunk: Buffer): SharedMemory | undefined {
    if (chunk.buffer !== this.#buffer) {
      this.close();
      this.#buffer = chunk.buffer;
      this.#shared = new SharedMemory(chunk);
    }
    return this.#shared;
  }

  /** The decoder no longer writes to the last buffer. */
  close(): void {
    this.#shared?.close();
    this.#shared = undefined;
  }
}

function* restOf(file: Buffer, given: number, options: GzipFileOptions): Generator<Buffer> {
  const decoder = new GzipFile({ ...options, step: STEP });
  let skip = given;
  try {
    for (const blocks of decoder.push(file))
      for (const block of blocks) {
        const rest = block.subarray(Math.min(skip, block.length));
        skip -= block.length - rest.length;
        if (rest.length > 0) yield rest;
      }
    decoder.end();
  } finally {
    decoder.close();
  }
}
