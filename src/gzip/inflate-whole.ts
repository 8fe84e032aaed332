import { promisify } from 'node:util';
// A default import, because a named import would make the bundler rename Millrace's own `gunzip`.
import zlib, { type BrotliOptions, type Zlib } from 'node:zlib';
import { compressionOf } from './compression.js';
import { MAGIC_BYTES, nodeZstd, ZstdFrames } from './zstd.js';

/**
 * The maximum stored size of a file that is inflated in one call. `LARGEST_CONTENT` is its maximum inflated
 * size.
 */
const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_CONTENT = 64 * 1024 * 1024;
/** The size of a gzip file that holds no data: a header, an empty block and a trailer. */
const SMALLEST_FILE = 20;
const SMALLEST_CHUNK = 64 * 1024;
const LARGE_CHUNK = 1024 * 1024;
/**
 * The initial output buffer for a zstd frame is this many times as large as the frame, up to
 * `LARGEST_ZSTD_CHUNK`. Few frames then need a second buffer.
 */
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

interface Decoders {
  gzip(file: Buffer, call: OneCall): Inflated | Promise<Inflated>;
  /** Absent if this version of Node has no zstd. */
  readonly zstd: ((frame: Buffer, options: BrotliOptions) => Buffer | Promise<Buffer>) | undefined;
}

const IN_POOL: Decoders = {
  // The types of node:zlib lack the option `info`.
  gzip: promisify(zlib.gunzip) as unknown as Decoders['gzip'],
  zstd: nodeZstd && promisify(nodeZstd.zstdDecompress),
};
const HERE: Decoders = {
  gzip: zlib.gunzipSync as unknown as Decoders['gzip'],
  zstd: nodeZstd?.zstdDecompressSync,
};

/**
 * Inflates a whole gzip file in one task of the thread pool, which is the fastest way for a small file.
 * Resolves to `undefined` if the file is too large or not a valid gzip file. The caller then uses a decoder
 * that reads the file in blocks and reports the reason.
 */
export async function inflateGzip(
  file: Buffer,
  maxBytes: number,
  { gzip } = IN_POOL,
): Promise<Buffer | undefined> {
  const maxOutputLength = Math.min(maxBytes, LARGEST_CONTENT);
  const size = inflatedSize(file);
  if (file.length > LARGEST_FILE || file.length < SMALLEST_FILE || size > maxOutputLength)
    return undefined;
  const chunkSize = roundedUp(size + 1);
  try {
    const { buffer, engine } = await gzip(file, { info: true, chunkSize, maxOutputLength });
    // The decoder stops after the last member. If bytes follow that member, the caller uses a decoder that
    // checks them.
    return engine.bytesWritten === file.length ? buffer : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Inflates a whole gzip or zstd file in the thread pool. Resolves to `undefined` if the file is too large,
 * damaged or in another format, or if this version of Node has no zstd. The caller then uses a decoder that
 * reads the file in blocks and reports the reason.
 */
export async function inflateWhole(
  file: Buffer,
  maxBytes: number,
  decoders = IN_POOL,
): Promise<Buffer | undefined> {
  if (compressionOf(file) !== 'zstd') return inflateGzip(file, maxBytes, decoders);
  const { zstd } = decoders;
  if (zstd === undefined) return undefined;
  const contents: Buffer[] = [];
  try {
    for (const frame of framesOf(file))
      contents.push(await zstd(frame, optionsFor(frame, contents, maxBytes)));
  } catch {
    return undefined;
  }
  return joined(contents);
}

/** Like `inflateWhole`, but on this thread. */
export function inflateWholeHere(file: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  return inflateWhole(file, maxBytes, HERE);
}

/**
 * Returns the inflated size that a gzip file states: the size of its last member modulo 4 GiB. The
 * size may be wrong, so it must only be used as an estimate, for example to choose the size of
 * buffers.
 */
export function inflatedSize(file: Buffer): number {
  return file.length < 4 ? 0 : file.readUInt32LE(file.length - 4);
}

/**
 * Rounds up the size of a block. Files from one source have similar sizes, and blocks of equal size can reuse
 * the memory of released blocks. If sizes were not rounded, most blocks would need new memory from the
 * system, which takes 4 % of the time.
 */
function roundedUp(bytes: number): number {
  const unit = bytes < LARGE_CHUNK ? SMALLEST_CHUNK : LARGE_CHUNK;
  return Math.ceil(bytes / unit) * unit;
}

/**
 * Splits a file into frames to decode one by one, because Node's decoder stops after the first frame.
 *
 * @throws Error if the file is too large or does not consist of whole frames.
 */
function framesOf(file: Buffer): readonly Buffer[] {
  if (file.length > LARGEST_FILE) throw new RangeError('The file is too large');
  const frames = new ZstdFrames();
  const found: Buffer[] = [];
  for (const { bytes, ends } of frames.push(file)) {
    if (!ends) continue;
    const end = bytes.byteOffset - file.byteOffset + bytes.length;
    found.push(file.subarray(end - bytes.length - MAGIC_BYTES, end));
  }
  if (!frames.isComplete) throw new Error('The file is cut short');
  return found;
}

/**
 * Returns the options for decoding a frame.
 *
 * @param before The inflated contents of all frames before this one.
 */
function optionsFor({ length }: Buffer, before: readonly Buffer[], maxBytes: number) {
  return {
    chunkSize: Math.min(Math.max(SMALLEST_CHUNK, ZSTD_GROWTH * length), LARGEST_ZSTD_CHUNK),
    maxOutputLength: Math.min(maxBytes, LARGEST_CONTENT) - bytesOf(before),
  };
}

/**
 * Joins buffers in newly allocated memory that is not part of Node's shared pool, so that the result can be
 * transferred to another thread.
 */
function joined(contents: readonly Buffer[]): Buffer {
  const all = Buffer.allocUnsafeSlow(bytesOf(contents));
  let at = 0;
  for (const content of contents) at += content.copy(all, at);
  return all;
}

function bytesOf(contents: readonly Buffer[]): number {
  return contents.reduce((sum, { length }) => sum + length, 0);
}
