import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { isZstd } from './zstd-frames.js';

/** The first byte of every gzip file, and of no text. */
export const GZIP_MAGIC = 0x1f;

export type FileCompression = 'plain' | 'gzip' | 'zstd';

/** How a file is compressed, by its first `MAGIC_BYTES` bytes. */
export function compressionOf(start: Uint8Array): FileCompression {
  if (start[0] === GZIP_MAGIC) return 'gzip';
  return isZstd(start) === true ? 'zstd' : 'plain';
}

interface CompressOptions {
  readonly chunkSize?: number;
  readonly params?: Readonly<Record<number, number>>;
}

interface DecompressOptions {
  readonly chunkSize?: number;
  readonly maxOutputLength?: number;
}

type InPool<Options> = (
  bytes: Uint8Array,
  options: Options,
  done: (error: Error | null, result: Buffer) => void,
) => void;

interface NodeZstd {
  readonly zstdCompress: InPool<CompressOptions>;
  readonly zstdDecompress: InPool<DecompressOptions>;
  zstdCompressSync(bytes: Uint8Array, options?: CompressOptions): Buffer;
  zstdDecompressSync(bytes: Uint8Array, options?: DecompressOptions): Buffer;
  createZstdCompress(options: CompressOptions): Transform;
  createZstdDecompress(options: {
    readonly chunkSize: number;
    readonly readableHighWaterMark: number;
  }): Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
}

/** What `node:zlib` has of zstd; `undefined` before Node 22.15. The types of Node 20 lack it. */
export const nodeZstd: NodeZstd | undefined =
  (zlib as unknown as Partial<NodeZstd>).zstdCompress && (zlib as unknown as NodeZstd);
