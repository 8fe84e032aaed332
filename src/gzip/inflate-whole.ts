import { promisify } from 'node:util';
import { gunzip, type Zlib } from 'node:zlib';
import { inflatedSize } from './inflated-size.js';

/** Largest file, before and after, that is inflated in one call. */
const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_CONTENT = 32 * 1024 * 1024;
const SMALLEST_CHUNK = 64 * 1024;

/**
 * Inflates a whole file in the thread pool, by far the fastest way. Resolves to `undefined` where that
 * is not known to be safe and right: the file is large, or not plainly one good gzip file.
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

/** What node:zlib's `gunzip` gives with `info: true`, which its types leave out. */
const inflate = promisify(gunzip) as unknown as (
  file: Buffer,
  options: { info: true; chunkSize: number; maxOutputLength: number },
) => Promise<{ buffer: Buffer; engine: Zlib }>;
