import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { compressionOf } from './compression.js';
import { inflateWhole, inflateWholeSync, LARGEST_CONTENT, LARGEST_FILE } from './inflate-whole.js';
import { MAGIC_BYTES, ZstdFrames } from './zstd-frames.js';

/** A buffer of the decoder has room for this many times a frame, between these sizes: few frames then need a second one. */
const GROWTH = 10;
const SMALLEST_CHUNK = 64 * 1024;
const LARGEST_CHUNK = 8 * 1024 * 1024;

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

/**
 * Inflates a whole gzip or zstd file in the thread pool. Resolves to `undefined` where the file is too large, damaged,
 * neither of these, or zstd and this Node has none: the decoders of blocks then say what is wrong.
 */
export async function inflateFile(file: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  if (compressionOf(file) !== 'zstd') return inflateWhole(file, maxBytes);
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
export function inflateFileSync(file: Buffer, maxBytes: number): Buffer | undefined {
  if (compressionOf(file) !== 'zstd') return inflateWholeSync(file, maxBytes);
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
      chunkSize: Math.min(Math.max(SMALLEST_CHUNK, GROWTH * length), LARGEST_CHUNK),
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
