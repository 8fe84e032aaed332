import zlib from 'node:zlib';
import { snappy } from './snappy.js';

/** How the pages of a Parquet file are compressed. */
export type ParquetCompression = 'snappy' | 'gzip' | 'zstd' | 'none';

/** Compresses a page; `undefined` for files that are not compressed. */
type CompressPage = (page: Uint8Array) => Uint8Array;

/** Only in Node 22.15 and later. */
const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: CompressPage };

interface PageCodec {
  /** Of the format's `CompressionCodec`. */
  readonly number: number;
  readonly compress: CompressPage | undefined;
}

export const PAGE_CODECS: Readonly<Record<ParquetCompression, PageCodec>> = {
  none: { number: 0, compress: undefined },
  snappy: { number: 1, compress: snappy },
  gzip: { number: 2, compress: page => zlib.gzipSync(page) },
  zstd: { number: 6, compress: zstdCompressSync && (page => zstdCompressSync(page)) },
};

/** Whether this version of Node can compress so. */
export function canCompress(compression: ParquetCompression): boolean {
  return compression === 'none' || PAGE_CODECS[compression].compress !== undefined;
}
