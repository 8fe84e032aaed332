import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

type Params = Readonly<Record<number, number>>;
type Options = { readonly params: Params };
type Compress = (block: Uint8Array, options: Options) => Promise<Buffer>;

/** Node has zstd from 22.15; the types of Node 20 lack it. */
const { zstdCompress, createZstdCompress, constants } = zlib as unknown as {
  readonly zstdCompress?: Parameters<typeof promisify>[0];
  readonly createZstdCompress?: (options: Options) => Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
};
/** Read only where Node has zstd. */
const options = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const compress = zstdCompress && (promisify(zstdCompress) as unknown as Compress);

/** A block as a zstd frame with a checksum, made in the thread pool; `undefined` where Node lacks zstd. */
export const zstdFrame: ((block: Uint8Array) => Promise<Uint8Array>) | undefined =
  compress && (block => compress(block, options));

/** Compresses a stream as one zstd frame with a checksum; `undefined` where Node lacks zstd. */
export const zstdStream: (() => Transform) | undefined =
  createZstdCompress && (() => createZstdCompress(options));
