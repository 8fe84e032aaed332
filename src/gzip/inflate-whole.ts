import { promisify } from 'node:util';
import { gunzip, type Zlib } from 'node:zlib';
import { inflatedSize } from './inflated-size.js';

/** Maximum size, compressed and inflated, of a file that is inflated in one call. */
const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_CONTENT = 32 * 1024 * 1024;
const SMALLEST_CHUNK = 64 * 1024;

/**
 * Inflates a whole file in one task of the thread pool, the fastest way for a small file. Resolves to
 * `undefined` where the file is too large or not a good gzip file: `inflateStream` then says what is wrong.
 */
export async function inflateWhole(file: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  const size = inflatedSize(file);
  if (file.length > LARGEST_FILE || size > Math.min(maxBytes, LARGEST_CONTENT)) return undefined;
  try {
    const { buffer, engine } = await inflate(file, {
      info: true,
      chunkSize: Math.max(size + 1, SMALLEST_CHUNK),
      maxOutputLength: Math.min(maxBytes, LARGEST_CONTENT),
    });
    return engine.bytesWritten === file.length ? buffer : undefined;
  } catch {
    return undefined;
  }
}

/** The types of node:zlib's `gunzip` lack the option `info`. */
const inflate = promisify(gunzip) as unknown as (
  file: Buffer,
  options: { info: true; chunkSize: number; maxOutputLength: number },
) => Promise<{ buffer: Buffer; engine: Zlib }>;
