import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, type Gunzip, type ZlibOptions } from 'node:zlib';
import { GzipFile, type GzipFileOptions } from './gzip-file.js';
import { inflatedSize } from './inflated-size.js';
import { SharedMemory } from './release-memory.js';

/**
 * Inflated at a time: to send the pool for more costs as much as some 100 KiB. Memory that comes back
 * at once can be more.
 */
const CHUNK = 2 * 1024 * 1024;
const RELEASED_CHUNK = 8 * 1024 * 1024;
const SMALLEST_CHUNK = 64 * 1024;
/**
 * Given at a time. What is made of a block, the posts that are parsed included, lives until the next:
 * of small ones more is garbage early, which is what garbage collectors like best.
 */
const BLOCK = 256 * 1024;
/** Of a damaged file goes in at once: what would come out with the damage is lost. */
const STEP = 1024;
/** A gzip header and trailer around empty data. */
const SMALLEST_FILE = 20;
/** A file for which that pays, and which may be held in memory as a whole. */
const LARGEST_FILE = 8 * 1024 * 1024;

export interface InflatedPart {
  readonly block: Buffer;
  readonly release?: (() => void) | undefined;
}

/**
 * A whole gzip file that inflates in the thread pool from now on, a chunk ahead of whoever reads
 * its blocks. Only for what it `takes`.
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
    // Chunks that are all filled. With one byte to spare, the decoder need not ask for more to see that
    // it is at the end.
    const size = inflatedSize(file) + 1;
    const options: ZlibOptions & { readonly readableHighWaterMark: number } = {
      chunkSize: Math.max(SMALLEST_CHUNK, Math.ceil(size / Math.ceil(size / chunk))),
      readableHighWaterMark: 1,
    };
    this.#gunzip = createGunzip(options);
    // Its error is met when its turn comes; until then it must not end the process.
    this.#gunzip.on('error', () => {});
    this.#gunzip.end(file);
  }

  static takes(file: Buffer): boolean {
    return file.length >= SMALLEST_FILE && file.length <= LARGEST_FILE;
  }

  /** Whether the pool's decoder has made all of the blocks. */
  get inflated(): boolean {
    return this.#gunzip.readableEnded && this.#gunzip.bytesWritten === this.#file.length;
  }

  /**
   * The blocks, in order. Where the pool's decoder fails, or leaves bytes that it did not
   * look at, `GzipFile` goes over the file from its beginning, gives what is left and says what is
   * wrong.
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
        // Chunks that are ready would keep the event loop from turning, and it is what takes them
        // from the pool and sends it for more.
        await nextTurn();
      }
    } catch {
      // Said better below.
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
