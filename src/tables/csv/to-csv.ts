import { checkValue } from '../../base/check.js';
import { ItemEncoding } from '../../files/encode-rows.js';
import { withInternals } from '../../flow/internals.js';
import type { Activity } from '../../post/activity.js';
import { type Columns, listColumns, TABLE_OPTIONS } from '../table-options.js';
import { CsvRows, csvRowsInThread } from './csv-rows.js';

/**
 * Creates a function that converts an item to a line of CSV, with a line end, exactly as `csv` writes it. Use
 * it for bulk loading of databases, such as `COPY posts FROM STDIN (FORMAT csv)` in PostgreSQL.
 *
 * @param columns A table, or a list of columns, tables and names of post columns; by default, `tables.posts`.
 * @throws OptionError for a name that is unknown or listed twice.
 * @throws DataError from the function, for an item that the columns cannot read, or a value that does not fit
 * its column.
 * @example
 * const toCsv = tables.toCsv(['id', 'posted_at', 'text']);
 * const lines = posts.map(toCsv).join('');
 */
export function toCsv<T = Activity>(columns?: Columns<T>): (item: T) => string {
  checkValue('tables.toCsv', 'columns', TABLE_OPTIONS.columns, columns);
  const options = {
    columns: listColumns(columns as Columns<unknown>),
    invalidValues: 'error',
    escapesFormulas: false,
  } as const;
  const rows = new CsvRows('tables.toCsv', options);
  const encoding = new ItemEncoding(
    () => new CsvRows('tables.toCsv', options),
    csvRowsInThread(options),
  );
  return withInternals((item: T) => rows.text(item), { encoding });
}
