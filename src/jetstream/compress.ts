import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { zstdFrame } from '../gzip/zstd-compress.js';

/** How batches of posts can be compressed. */
export type BatchCompression = 'gzip' | 'zstd';

type Compress = (bytes: Uint8Array) => Promise<Uint8Array>;

const compressGzip: Compress = promisify<Uint8Array, Buffer>(gzip);

/** `undefined` where Node lacks it: zstd comes with version 22.15. */
export function compressorOf(compression: BatchCompression): Compress | undefined {
  return compression === 'gzip' ? compressGzip : zstdFrame;
}
