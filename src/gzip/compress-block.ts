import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

/** How blocks are compressed. */
export type Compression =
  | { readonly kind: 'gzip'; readonly level: number }
  | { readonly kind: 'zstd' };

interface ZstdOptions {
  readonly chunkSize?: number;
  readonly params: Readonly<Record<number, number>>;
}

/** Node has zstd from 22.15; the types of Node 20 lack it. */
const { zstdCompress, zstdCompressSync, createZstdCompress, constants } = zlib as unknown as {
  readonly zstdCompress?: Parameters<typeof promisify>[0];
  readonly zstdCompressSync?: (block: Uint8Array, options: ZstdOptions) => Buffer;
  readonly createZstdCompress?: (options: ZstdOptions) => Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
};
/** Read only where Node has zstd. */
const WITH_CHECKSUM = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

type InPool<Options> = (block: Uint8Array, options: Options) => Promise<Buffer>;
const gzipInPool: InPool<zlib.ZlibOptions> = promisify(zlib.gzip);
const zstdInPool = zstdCompress && (promisify(zstdCompress) as unknown as InPool<ZstdOptions>);

/** Whether this Node can write zstd. */
export const writesZstd = zstdInPool !== undefined;

/** Compresses a stream as one zstd frame with a checksum; `undefined` where Node lacks zstd. */
export const zstdStream: (() => Transform) | undefined =
  createZstdCompress && (() => createZstdCompress(WITH_CHECKSUM));

/** Compresses a block, in the thread pool, as a gzip member or a zstd frame that can be decompressed by itself. */
export function compressBlock(block: Uint8Array, compression: Compression): Promise<Uint8Array> {
  if (compression.kind === 'gzip') return gzipInPool(block, gzipOptions(block, compression));
  if (zstdInPool === undefined) throw new Error('This Node has no zstd');
  return zstdInPool(block, zstdOptions(block));
}

/** The same on this thread. */
export function compressBlockSync(block: Uint8Array, compression: Compression): Uint8Array {
  if (compression.kind === 'gzip') return zlib.gzipSync(block, gzipOptions(block, compression));
  if (zstdCompressSync === undefined) throw new Error('This Node has no zstd');
  return zstdCompressSync(block, zstdOptions(block));
}

/** One call of the encoder, not one call for each 16 KiB of output. */
function gzipOptions({ length }: Uint8Array, { level }: { readonly level: number }) {
  return { level, chunkSize: Math.max(16 << 10, length >> 1) };
}

function zstdOptions({ length }: Uint8Array): ZstdOptions {
  return { ...WITH_CHECKSUM, chunkSize: Math.max(16 << 10, length >> 2) };
}
