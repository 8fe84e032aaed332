import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

type Params = Readonly<Record<number, number>>;
type Compress = (block: Uint8Array, options: { readonly params: Params }) => Promise<Buffer>;

/** Node has zstd from 22.15; the types of Node 20 lack it. */
const { zstdCompress, constants } = zlib as unknown as {
  readonly zstdCompress?: Parameters<typeof promisify>[0];
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
};
const compress = zstdCompress && (promisify(zstdCompress) as unknown as Compress);

/** A block as a zstd frame with a checksum, made in the thread pool; `undefined` where Node lacks zstd. */
export const zstdFrame: ((block: Uint8Array) => Promise<Uint8Array>) | undefined =
  compress && (block => compress(block, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }));
