import { isZstd } from './zstd-frames.js';

/** The first byte of every gzip file, and of no text. */
export const GZIP_MAGIC = 0x1f;

/** What `gunzip` does with plain bytes, and the maximum size of what it inflates. */
export interface InflateLimits {
  readonly plain: 'refuse' | 'pass';
  readonly maxBytes: number;
}

export type FileCompression = 'plain' | 'gzip' | 'zstd';

/** How a file is compressed, by its first `MAGIC_BYTES` bytes. */
export function compressionOf(start: Uint8Array): FileCompression {
  if (start[0] === GZIP_MAGIC) return 'gzip';
  return isZstd(start) === true ? 'zstd' : 'plain';
}
