import { checkOptions, flag, type OptionTable, oneOf } from '../base/check.js';
import type { Sink } from '../flow/flow.js';
import type { Activity } from '../post/activity.js';
import { type FileSystem, nodeFileSystem } from '../storage/file-system.js';
import { csvRow } from '../tables/csv/csv-row.js';
import { CsvRows, csvRowsInThread } from '../tables/csv/csv-rows.js';
import {
  hasOwnColumns,
  listColumns,
  type NeedsColumns,
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
import { linesFormat } from './write/format.js';

/** Options of `csv`: the columns, how to write values, and the options of `files`. */
export interface CsvOptions<T> extends FileSinkOptions<T>, TableOptions<T> {
  /**
   * What to do with a string that a spreadsheet would run as a formula. Such a string begins with `=`, `+`,
   * `-`, `@` (also in full width), a tab, a carriage return or a line feed. `'keep'` writes the string
   * unchanged. `'escape'` puts a `'` before it; this also affects replies, because they begin with `@`.
   * Numbers stay unchanged.
   * @default 'keep'
   */
  readonly formulas?: 'keep' | 'escape' | undefined;
  /**
   * Whether to begin each file with a byte order mark, so that Excel reads the file as UTF-8. @default false
   */
  readonly bom?: boolean | undefined;
}

export const CSV_OPTIONS = {
  ...FILE_SINK_OPTIONS,
  ...TABLE_OPTIONS,
  formulas: oneOf('what happens to formulas', ['keep', 'escape'], 'keep'),
  bom: flag('whether files begin with a byte order mark', false),
} satisfies OptionTable<CsvOptions<unknown>>;

/**
 * Writes every item as a row of a CSV file (RFC 4180, UTF-8). The first row of each file has the names of the
 * columns. Accepts posts, or the items that `columns` read. Paths, compression, numbered files and the
 * checkpoint work as in `files`. Without items, no file is written.
 *
 * Line breaks, quotes and emoji are preserved exactly. A missing value is an empty field; an empty string is
 * `""`. Times are written as `2024-03-05T14:07:00.000Z`, and lists as JSON.
 *
 * @throws OptionError before any I/O, for an invalid option, or a column that is unknown or listed twice.
 * @throws DataError for an item that the columns cannot read, and for a value that does not fit its column.
 * @throws StorageError like `files`.
 * @example
 * await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   csv({ path: 'out/{day}.csv', checkpoint: 'out/checkpoint.json' }),
 * );
 */
export function csv<T = Activity>(options: CsvOptions<T> & NeedsColumns<T>): Sink<T, Written> {
  return csvOn<T>(nodeFileSystem, options);
}

/** Like `csv`, but on the given file system, so that a test can make the disk fail. */
export function csvOn<T>(fs: FileSystem, options: CsvOptions<T>): Sink<T, Written> {
  const { columns, invalidValues, formulas, bom, ...checked } = checkOptions(
    'csv',
    CSV_OPTIONS,
    options as CsvOptions<unknown>,
  );
  const list = listColumns(columns);
  const names = csvRow(
    list.map(({ name }) => name),
    false,
  );
  const rowOptions = { columns: list, invalidValues, escapesFormulas: formulas === 'escape' };
  const rows = new CsvRows('csv', rowOptions);
  const encode = (item: unknown, origin: string | undefined) => {
    rows.add(item, origin);
    // The line is returned without its line feed, because the sink adds one.
    return rows.take().subarray(0, -1);
  };
  const config = fileSinkConfig<unknown>('csv', checked, {
    format: () =>
      linesFormat({
        encode,
        header: Buffer.from(bom ? `\ufeff${names}` : names),
        rows: csvRowsInThread(rowOptions),
      }),
    settings: { columns: settingsOf(list), formulas, bom },
    takesFunctions: hasOwnColumns(list),
  });
  return fileSinkOn<T>(fs, config);
}
