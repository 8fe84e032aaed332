import zlib from 'node:zlib';
import { nodeZstd } from '../../gzip/zstd.js';
import type { ValueEncoder } from './value-encoder.js';

/** The compression of pages in a Parquet file. */
export type ParquetCompression = 'snappy' | 'gzip' | 'zstd' | 'none';

const zstd = nodeZstd;
const compressZstd = zstd && ((page: Uint8Array) => zstd.zstdCompressSync(page));

interface PageCodec {
  /** The number of this compression in the enumeration `CompressionCodec` of Parquet. */
  readonly number: number;
  /**
   * Compresses a page in the memory of the page's encoder. Absent for files without compression, and if this
   * version of Node does not support the compression.
   */
  readonly compress: ((page: Uint8Array, encoder: ValueEncoder) => Uint8Array) | undefined;
}

export const PAGE_CODECS: Readonly<Record<ParquetCompression, PageCodec>> = {
  none: { number: 0, compress: undefined },
  snappy: { number: 1, compress: (page, encoder) => encoder.snappy(page) },
  gzip: { number: 2, compress: page => zlib.gzipSync(page) },
  zstd: { number: 6, compress: compressZstd },
};

/** Whether this version of Node supports the compression. */
export function canCompress(compression: ParquetCompression): boolean {
  return compression === 'none' || PAGE_CODECS[compression].compress !== undefined;
}
