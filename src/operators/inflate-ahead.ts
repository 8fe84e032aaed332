import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, type Gunzip, type ZlibOptions } from 'node:zlib';
import { GzipFile, type GzipFileOptions } from './gzip-file.js';

/** Inflated at a time: to send the pool for more costs as much as some 100 KiB. */
const CHUNK = 2 * 1024 * 1024;
const SMALLEST_CHUNK = 64 * 1024;
/**
 * Given at a time. What is made of a block, the posts that are parsed included, lives until the next:
 * of small ones more is garbage early, which is what garbage collectors like best.
 */
const BLOCK = 256 * 1024;
/** A gzip header and trailer around empty data. */
const SMALLEST_FILE = 20;
/** A file for which that pays, and which may be held in memory as a whole. */
const LARGEST_FILE = 8 * 1024 * 1024;

/**
 * A whole gzip file that inflates in the thread pool from now on, a chunk ahead of whoever reads
 * its blocks. Only for what it `takes`.
 */
export class InflateAhead {
  readonly #file: Buffer;
  readonly #gunzip: Gunzip;

  constructor(file: Buffer) {
    this.#file = file;
    // The trailer's size is that of the last member, modulo 4 GiB: a hint, for chunks that are all
    // filled. With one byte to spare, the decoder need not ask for more to see that it is at the end.
    const size = file.readUInt32LE(file.length - 4) + 1;
    const options: ZlibOptions & { readonly readableHighWaterMark: number } = {
      chunkSize: Math.max(SMALLEST_CHUNK, Math.ceil(size / Math.ceil(size / CHUNK))),
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

  /**
   * The blocks, in order. Where the pool's decoder fails, or leaves bytes that it did not look at,
   * `GzipFile` goes over the file from its beginning, gives what is left and says what is wrong.
   */
  async *blocks(options: GzipFileOptions): AsyncGenerator<Buffer, void, undefined> {
    const gunzip = this.#gunzip;
    let given = 0;
    try {
      for await (const chunk of gunzip as AsyncIterable<Buffer>) {
        if (given + chunk.length > options.maxBytes) break;
        for (let at = 0; at < chunk.length; at += BLOCK) {
          const block = chunk.subarray(at, at + BLOCK);
          yield block;
          given += block.length;
        }
        // Chunks that are ready would keep the event loop from turning, and it is what takes them
        // from the pool and sends it for more.
        await nextTurn();
      }
    } catch {
      // Said better below.
    }
    if (gunzip.readableEnded && gunzip.bytesWritten === this.#file.length) return;
    yield* restOf(this.#file, given, options);
  }

  close(): void {
    this.#gunzip.destroy();
  }
}

function* restOf(file: Buffer, given: number, options: GzipFileOptions): Generator<Buffer> {
  const decoder = new GzipFile(options);
  let skip = given;
  try {
    for (const block of decoder.push(file)) {
      const rest = block.subarray(Math.min(skip, block.length));
      skip -= block.length - rest.length;
      if (rest.length > 0) yield rest;
    }
    decoder.end();
  } finally {
    decoder.close();
  }
}
