import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { isZstd, nodeZstd } from './zstd.js';

/** The first byte of every gzip file. No text file starts with it. */
export const GZIP_MAGIC = 0x1f;

export interface InflateLimits {
  readonly plain: 'refuse' | 'pass';
  readonly maxBytes: number;
}

export type FileCompression = 'plain' | 'gzip' | 'zstd';

/** Detects the compression of a file from its first `MAGIC_BYTES` bytes. */
export function compressionOf(start: Uint8Array): FileCompression {
  if (start[0] === GZIP_MAGIC) return 'gzip';
  return isZstd(start) === true ? 'zstd' : 'plain';
}

export type Compression =
  | { readonly kind: 'gzip'; readonly level: number }
  | { readonly kind: 'zstd' };

const gzipInPool: (block: Uint8Array, options: zlib.ZlibOptions) => Promise<Buffer> = promisify(
  zlib.gzip,
);
const zstdInPool = nodeZstd && promisify(nodeZstd.zstdCompress);
/**
 * Options that make zstd add a checksum to each frame. Gzip members always have a checksum. `undefined` if
 * this version of Node has no zstd.
 */
export const WITH_CHECKSUM: { readonly params: Record<number, number> } | undefined = nodeZstd && {
  params: { [nodeZstd.constants.ZSTD_c_checksumFlag]: 1 },
};

/** Compresses a block to an independent gzip member or zstd frame, in the thread pool. */
export function compressBlock(block: Uint8Array, compression: Compression): Promise<Uint8Array> {
  if (compression.kind === 'gzip') return gzipInPool(block, gzipOptions(block, compression));
  if (zstdInPool === undefined) throw new Error('This version of Node has no zstd');
  return zstdInPool(block, zstdOptions(block));
}

/** Compresses a block to an independent gzip member or zstd frame, on this thread. */
export function compressBlockSync(block: Uint8Array, compression: Compression): Uint8Array {
  if (compression.kind === 'gzip') return zlib.gzipSync(block, gzipOptions(block, compression));
  if (nodeZstd === undefined) throw new Error('This version of Node has no zstd');
  return nodeZstd.zstdCompressSync(block, zstdOptions(block));
}

/**
 * Returns options with an output buffer that is large enough for most blocks, so that one call of the encoder
 * is enough. By default, the encoder is called once for each 16 KiB of output.
 */
function gzipOptions({ length }: Uint8Array, { level }: { readonly level: number }) {
  return { level, chunkSize: Math.max(16 << 10, length >> 1) };
}

function zstdOptions({ length }: Uint8Array) {
  return { ...WITH_CHECKSUM, chunkSize: Math.max(16 << 10, length >> 2) };
}
