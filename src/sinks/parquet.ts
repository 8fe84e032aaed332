import {
  checkOptions,
  milliseconds,
  type OptionTable,
  oneOf,
  optionError,
  whole,
} from '../base/check.js';
import type { Sink } from '../flow/flow.js';
import type { Activity } from '../post/activity.js';
import { type FileSystem, nodeFileSystem } from '../storage/file-system.js';
import { canCompress, type ParquetCompression } from '../tables/parquet/page-codec.js';
import {
  itemToAdd,
  ParquetEncoder,
  ROW_GROUP_ROWS,
  rowAdder,
} from '../tables/parquet/parquet-encoder.js';
import { PARQUET_ROWS } from '../tables/parquet/parquet-rows.js';
import {
  hasOwnColumns,
  listColumns,
  type NeedsColumns,
  postColumnNames,
  settingsOf,
  TABLE_OPTIONS,
  type TableOptions,
} from '../tables/table-options.js';
import {
  FILE_SINK_OPTIONS,
  type FileSinkOptions,
  fileSinkConfig,
  fileSinkOn,
} from './commit/file-sink.js';
import type { Written } from './commit/run-result.js';

/** Options of `parquet`: the columns, the size of row groups, and the options of `files`. */
export interface ParquetOptions<T>
  extends Omit<FileSinkOptions<T>, 'gzip' | 'maxBytes' | 'commitIntervalMs'>,
    TableOptions<T> {
  /** The compression of pages. `'zstd'` requires Node 22.15 or later. @default 'snappy' */
  readonly compression?: ParquetCompression | undefined;
  /**
   * The maximum number of rows in a row group. A row group has fewer rows if `maxHeldBytes` is reached first.
   * @default 100_000
   */
  readonly rowGroup?: number | undefined;
  /**
   * The maximum memory in bytes, over all open files, for rows that wait until their row group is full. If it
   * is exceeded, the largest row groups are written before they are full. The process uses several times as
   * much memory, because encoding a row group also takes memory.
   * @default 32 MiB, which is about 30,000 posts with all columns
   */
  readonly maxHeldBytes?: number | undefined;
  /**
   * The size in bytes at which a file ends and the next begins. The files are then numbered, such as
   * `snow.0001.parquet`. The current row group is counted by its size in memory. A file may become larger,
   * because threads may still be encoding posts for it when it reaches this size.
   * @default 128 MiB with a checkpoint of this sink or of `tee`; otherwise no limit and no numbers
   */
  readonly maxBytes?: number | undefined;
  /**
   * The time after which all open files end and are committed, in milliseconds. Set it for endless sources,
   * because a crash loses the rows since the last commit. A short time leads to small files.
   * @default no time limit; all files end when one of them is full, or when the files that still get rows
   * have on average as many rows as a full row group
   */
  readonly commitIntervalMs?: number | undefined;
}

const { gzip: _, ...SHARED_OPTIONS } = FILE_SINK_OPTIONS;
const MIB = 1 << 20;
const DEFAULT_FILE_BYTES = 128 * MIB;

const OPTIONS = {
  ...SHARED_OPTIONS,
  ...TABLE_OPTIONS,
  compression: oneOf('how pages are compressed', ['snappy', 'gzip', 'zstd', 'none'], 'snappy'),
  rowGroup: whole('rows of a row group', { min: 1, default: ROW_GROUP_ROWS }),
  maxHeldBytes: whole('memory of rows that wait', { min: 1, default: 32 * MIB }),
  maxBytes: whole('bytes in one file', { min: 1 }),
  commitIntervalMs: milliseconds('between two commits', { min: 0 }),
} satisfies OptionTable<ParquetOptions<unknown>>;

/**
 * Writes every item as a row of a Parquet file. Accepts posts, or the items that `columns` read. A file gets
 * its final name only when it is complete. Without items, no file is written.
 *
 * With a checkpoint, files are numbered. All open files end and are committed together. This happens when one
 * of them is full, or when the files that still get rows have one full row group each, on average. A crash
 * loses only the open files, and the same script then writes their rows again from the cursor. If the path
 * has partitions, as in `out/month={month}/tag={tag}/posts.parquet`, DuckDB and other tools read the folder
 * as one dataset.
 *
 * @throws OptionError before any I/O, for an invalid option, or a column that is unknown or listed twice.
 * @throws DataError for an item that the columns cannot read, and for a value that does not fit its column.
 * @throws StorageError like `files`.
 * @example
 * await pipeline(
 *   localFiles('job'),
 *   gunzip(),
 *   jsonLines(),
 *   activities(),
 *   parquet({ path: 'out/month={month}/posts.parquet', checkpoint: 'out/checkpoint.json' }),
 * );
 */
export function parquet<T = Activity>(
  options: ParquetOptions<T> & NeedsColumns<T>,
): Sink<T, Written> {
  return parquetOn<T>(nodeFileSystem, options);
}

/** Like `parquet`, but on the given file system, so that a test can make the disk fail. */
export function parquetOn<T>(fs: FileSystem, options: ParquetOptions<T>): Sink<T, Written> {
  const { columns, invalidValues, compression, rowGroup, maxHeldBytes, ...checked } = checkOptions(
    'parquet',
    OPTIONS,
    options as ParquetOptions<unknown>,
  );
  if (!canCompress(compression))
    throw optionError('parquet', 'compression', "must not be 'zstd' before Node 22.15; use 'gzip'");
  if (typeof checked.path === 'string' && /\.gz$/i.test(checked.path))
    throw optionError('parquet', 'path', 'must not end in .gz: Parquet compresses within the file');
  const list = listColumns(columns);
  const postColumns = postColumnNames(list);
  const format = {
    columns: list,
    addRow: rowAdder(list, invalidValues),
    compression,
    rowGroup,
  };
  const config = fileSinkConfig<unknown>('parquet', checked, {
    format: () => ({
      encode: itemToAdd,
      encoder: ({ inThread }) => new ParquetEncoder(format, inThread),
      wholeFiles: {
        maxHeldBytes,
        committedBytes: DEFAULT_FILE_BYTES,
        committedItems: rowGroup,
      },
      rows: postColumns && {
        kind: PARQUET_ROWS,
        options: { columns: postColumns, invalidValues },
      },
    }),
    settings: { columns: settingsOf(list) },
    takesFunctions: hasOwnColumns(list),
  });
  return fileSinkOn<T>(fs, config);
}
