import zlib from 'node:zlib';

/** How the pages of a Parquet file are compressed. */
export type ParquetCompression = 'snappy' | 'gzip' | 'zstd' | 'none';

type Compressor = (page: Uint8Array) => Uint8Array;

/** A codec by its name in the file, and what compresses with it; snappy is built into the encoder. */
export interface ParquetCodec {
  readonly name: 'SNAPPY' | 'GZIP' | 'ZSTD' | 'UNCOMPRESSED';
  readonly compressors: Readonly<Record<string, Compressor>>;
}

/** Only in Node 22.15 and later. */
const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: Compressor };

/** The codec of an option; `undefined` where this version of Node does not have it. */
export function parquetCodec(compression: ParquetCompression): ParquetCodec | undefined {
  switch (compression) {
    case 'snappy':
      return { name: 'SNAPPY', compressors: {} };
    case 'gzip':
      return { name: 'GZIP', compressors: { GZIP: page => zlib.gzipSync(page) } };
    case 'none':
      return { name: 'UNCOMPRESSED', compressors: {} };
    case 'zstd':
      if (zstdCompressSync === undefined) return undefined;
      return { name: 'ZSTD', compressors: { ZSTD: page => zstdCompressSync(page) } };
  }
}
