import type { Transform, TransformOptions } from 'node:stream';
import * as zlib from 'node:zlib';

type InPool = (
  bytes: Uint8Array,
  options: zlib.BrotliOptions,
  done: (error: Error | null, result: Buffer) => void,
) => void;

/** The options have the form of those of Brotli. */
interface NodeZstd {
  readonly zstdCompress: InPool;
  readonly zstdDecompress: InPool;
  zstdCompressSync(bytes: Uint8Array, options?: zlib.BrotliOptions): Buffer;
  zstdDecompressSync(bytes: Uint8Array, options?: zlib.BrotliOptions): Buffer;
  createZstdCompress(options: zlib.BrotliOptions): Transform;
  createZstdDecompress(options: zlib.BrotliOptions & TransformOptions): Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
}

/** What `node:zlib` has of zstd; `undefined` before Node 22.15. The types of Node 20 lack it. */
export const nodeZstd: NodeZstd | undefined =
  (zlib as unknown as Partial<NodeZstd>).zstdCompress && (zlib as unknown as NodeZstd);
