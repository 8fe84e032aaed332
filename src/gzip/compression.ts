import { GZIP_MAGIC } from './gzip-magic.js';
import { isZstd } from './zstd-frames.js';

export type Compression = 'plain' | 'gzip' | 'zstd';

/** How a file is compressed, by its first `MAGIC_BYTES` bytes. */
export function compressionOf(start: Uint8Array): Compression {
  if (start[0] === GZIP_MAGIC) return 'gzip';
  return isZstd(start) === true ? 'zstd' : 'plain';
}
