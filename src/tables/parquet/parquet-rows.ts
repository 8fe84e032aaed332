import type { EncoderKind } from '../../files/encode-rows.js';
import { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import { type OfPost, postRowReader, postRowWriter } from '../from-bytes/post-rows.js';
import type { PostColumnName } from '../post-columns.js';
import { type InvalidValues, listColumns } from '../table-options.js';
import { BlockCells, RowBlockBuilder } from './row-block.js';

export interface ParquetRowsOptions {
  readonly columns: readonly PostColumnName[];
  readonly invalidValues: InvalidValues;
}

/**
 * Encodes rows of posts in other threads. The results are blocks of columns, from which row groups are built.
 */
export const PARQUET_ROWS: EncoderKind<ParquetRowsOptions> = {
  name: 'parquet',
  // After the last file was decoded, threads may still have to encode row groups.
  hasTasks: true,
  create: ({ columns, invalidValues }) => {
    const builder = new RowBlockBuilder(listColumns(columns).map(({ type }) => type));
    const post = PostInBytes.ofThread();
    const read = postRowReader('parquet', columns, invalidValues);
    const write: OfPost<void> =
      post === undefined
        ? (content, start, end, tag) => builder.add(read(content, start, end, tag))
        : postRowWriter('parquet', columns, invalidValues, {
            post,
            out: new BlockCells(builder, post.strings),
          });
    return each => {
      builder.clear();
      each(write);
      return builder.take();
    };
  },
};
