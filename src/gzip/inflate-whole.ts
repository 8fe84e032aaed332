import { promisify } from 'node:util';
// A named import would make the bundler rename Millrace's own `gunzip`.
import zlib, { type Zlib } from 'node:zlib';
import { compressionOf } from './compression.js';
import { MAGIC_BYTES, ZstdFrames } from './zstd-frames.js';

/** Maximum size, as it is stored and inflated, of a file that is inflated in one call. */
const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_CONTENT = 64 * 1024 * 1024;
/** A gzip header and trailer around empty data. */
const SMALLEST_FILE = 20;
const SMALLEST_CHUNK = 64 * 1024;
const LARGE_CHUNK = 1024 * 1024;
/** A buffer of the zstd decoder has room for this many times a frame, up to this size: few frames need a second one. */
const ZSTD_GROWTH = 10;
const LARGEST_ZSTD_CHUNK = 8 * 1024 * 1024;

interface OneCall {
  readonly info: true;
  readonly chunkSize: number;
  readonly maxOutputLength: number;
}

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: Zlib;
}

interface ZstdOptions {
  readonly chunkSize: number;
  readonly maxOutputLength: number;
}

/** Node has zstd from 22.15; the types of Node 20 lack it. */
const { zstdDecompress, zstdDecompressSync } = zlib as unknown as {
  readonly zstdDecompress?: Parameters<typeof promisify>[0];
  readonly zstdDecompressSync?: (frame: Buffer, options: ZstdOptions) => Buffer;
};
const zstdInPool =
  zstdDecompress &&
  (promisify(zstdDecompress) as (frame: Buffer, options: ZstdOptions) => Promise<Buffer>);

// The types of node:zlib lack the option `info`.
const inPool = promisify(zlib.gunzip) as unknown as (
  file: Buffer,
  call: OneCall,
) => Promise<Inflated>;
const inPlace = zlib.gunzipSync as unknown as (file: Buffer, call: OneCall) => Inflated;

/**
 * Inflates a whole file in one task of the thread pool, the fastest way for a small file. Resolves to
 * `undefined` where the file is too large or not a good gzip file: `inflateDownload` then says what is wrong.
 */
export async function inflateGzip(file: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  const call = oneCall(file, maxBytes);
  try {
    return call && contentOf(file, await inPool(file, call));
  } catch {
    return undefined;
  }
}

/** The same on this thread. */
export function inflateGzipSync(file: Buffer, maxBytes: number): Buffer | undefined {
  const call = oneCall(file, maxBytes);
  try {
    return call && contentOf(file, inPlace(file, call));
  } catch {
    return undefined;
  }
}

/**
 * The inflated size that a gzip file states: that of its last member, modulo 4 GiB. Not to be trusted; used
 * to choose the size of buffers.
 */
export function inflatedSize(file: Buffer): number {
  return file.length < 4 ? 0 : file.readUInt32LE(file.length - 4);
}

function oneCall(file: Buffer, maxBytes: number): OneCall | undefined {
  const maxOutputLength = Math.min(maxBytes, LARGEST_CONTENT);
  const size = inflatedSize(file);
  if (file.length > LARGEST_FILE || file.length < SMALLEST_FILE || size > maxOutputLength)
    return undefined;
  return { info: true, chunkSize: roundedUp(size + 1), maxOutputLength };
}

/** Files with bytes after their end are refused: the decoder does not read what follows the last member. */
function contentOf(file: Buffer, { buffer, engine }: Inflated): Buffer | undefined {
  return engine.bytesWritten === file.length ? buffer : undefined;
}

/**
 * Files of one source have similar sizes: blocks of equal size take the memory of released ones, where
 * others need new memory from the system, which takes 4 % of the time.
 */
function roundedUp(bytes: number): number {
  const unit = bytes < LARGE_CHUNK ? SMALLEST_CHUNK : LARGE_CHUNK;
  return Math.ceil(bytes / unit) * unit;
}

/**
 * Inflates a whole gzip or zstd file in the thread pool. Resolves to `undefined` where the file is too large, damaged,
 * neither of these, or zstd and this Node has none: the decoders of blocks then say what is wrong.
 */
export async function inflateWhole(file: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  if (compressionOf(file) !== 'zstd') return inflateGzip(file, maxBytes);
  const frames = zstdInPool && framesOf(file);
  if (zstdInPool === undefined || frames === undefined) return undefined;
  const contents = new Contents(maxBytes);
  try {
    for (const frame of frames) contents.add(await zstdInPool(frame, contents.optionsFor(frame)));
  } catch {
    return undefined;
  }
  return contents.joined();
}

/** The same on this thread. */
export function inflateWholeSync(file: Buffer, maxBytes: number): Buffer | undefined {
  if (compressionOf(file) !== 'zstd') return inflateGzipSync(file, maxBytes);
  const frames = zstdDecompressSync && framesOf(file);
  if (zstdDecompressSync === undefined || frames === undefined) return undefined;
  const contents = new Contents(maxBytes);
  try {
    for (const frame of frames) contents.add(zstdDecompressSync(frame, contents.optionsFor(frame)));
  } catch {
    return undefined;
  }
  return contents.joined();
}

/** The frames of a file, each of which is decoded by itself: the decoder of Node stops after the first. */
function framesOf(file: Buffer): readonly Buffer[] | undefined {
  if (file.length > LARGEST_FILE) return undefined;
  const frames = new ZstdFrames();
  const found: Buffer[] = [];
  try {
    for (const { bytes, ends } of frames.push(file)) {
      if (!ends) continue;
      const end = bytes.byteOffset - file.byteOffset + bytes.length;
      found.push(file.subarray(end - bytes.length - MAGIC_BYTES, end));
    }
  } catch {
    return undefined;
  }
  return frames.isComplete ? found : undefined;
}

/** What the frames of a file hold. */
class Contents {
  readonly #contents: Buffer[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = Math.min(maxBytes, LARGEST_CONTENT);
  }

  optionsFor({ length }: Buffer): ZstdOptions {
    return {
      chunkSize: Math.min(Math.max(SMALLEST_CHUNK, ZSTD_GROWTH * length), LARGEST_ZSTD_CHUNK),
      maxOutputLength: this.#maxBytes - this.#bytes,
    };
  }

  add(content: Buffer): void {
    this.#contents.push(content);
    this.#bytes += content.length;
  }

  /** In memory of its own, not that of Node's pool: it may be transferred. */
  joined(): Buffer {
    const joined = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const content of this.#contents) at += content.copy(joined, at);
    return joined;
  }
}
