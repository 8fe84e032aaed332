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

/**
 * The columns of `parquet`, the size of its row groups, and the options that it shares with `files`.
 */
export interface ParquetOptions<T>
  extends Omit<FileSinkOptions<T>, 'gzip' | 'maxBytes' | 'commitIntervalMs'>,
    TableOptions<T> {
  /** How pages are compressed; `'zstd'` needs Node 22.15 or later. @default 'snappy' */
  readonly compression?: ParquetCompression | undefined;
  /** The maximum number of rows in a row group. @default 100_000 */
  readonly rowGroup?: number | undefined;
  /**
   * Memory of the rows that wait for their row group, over all open files, in bytes. Beyond it, the largest row
   * groups are written as they are. A process grows by several times this, as encoding a row group takes memory,
   * too.
   * @default 32 MiB, some 30,000 posts with all columns
   */
  readonly maxHeldBytes?: number | undefined;
  /**
   * A file ends once it has this many bytes, and the next one begins: `snow.0001.parquet`, `snow.0002.parquet` and so
   * on. The current row group counts with its size in memory. Threads may add the posts of a few more stored files.
   * @default 128 MiB with a checkpoint, also one of `tee`; no limit and no numbers without
   */
  readonly maxBytes?: number | undefined;
  /**
   * The time after which all open files end and are committed, in milliseconds, for endless sources: a
   * crash costs what came since. Short times make small files.
   * @default files end when one of them is full, or those that still get rows have a row group each
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
 * Writes every item as a row of a Parquet file. Takes posts, unless `columns` are of other items. A file has
 * its name only when it is complete. Without items, no file is written.
 *
 * With a checkpoint, files are numbered, and all open ones end and are committed together whenever one is
 * full, or those that still get rows have a row group each: a crash costs only the files under way, which
 * the same script writes again from the cursor.
 * Partition by the path, `out/month={month}/tag={tag}/posts.parquet`, and DuckDB and others read the folder
 * as one dataset.
 *
 * @throws OptionError before any I/O, also for a column that is unknown or comes twice.
 * @throws DataError for an item that the columns are not of, and a value that does not fit its column.
 * @throws StorageError as `files`.
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

/** `parquet` on another file system, so that a test can make the disk fail. */
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
