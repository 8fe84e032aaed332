import { explained, type OptionTable, oneOf } from '../base/check.js';
import type { Column, Table } from './column.js';
import { type Columns, columnsProblem } from './columns.js';
import type { PostItem } from './post-columns.js';
import type { InvalidValues } from './row-reader.js';

/** The options that all sinks of rows share: the columns, and what to do with invalid values. */
export interface TableOptions<T> {
  /**
   * A table such as `tables.counts`, or a list of columns of your own, columns of tables, tables, and
   * names of columns of `tables.posts`.
   * @default tables.posts
   */
  readonly columns?: Columns<T> | undefined;
  /**
   * What happens to a value that does not fit the type of its column: a `DataError` that names post and
   * column, or `'null'`, no value in its row.
   * @default 'error'
   */
  readonly invalidValues?: InvalidValues | undefined;
}

/** Only posts have default columns, and columns that are known by their names. */
export type NeedsColumns<T> = [T] extends [PostItem]
  ? unknown
  : { readonly columns: ColumnsWithNoNames<NoInfer<T>> };

/** Columns of items that are not posts. */
export type ColumnsWithNoNames<T> = Table<T> | readonly (Column<T> | Table<T>)[];

export const TABLE_OPTIONS = {
  columns: explained<Columns<unknown>>('the columns of a row', columnsProblem),
  invalidValues: oneOf('what happens to values that do not fit', ['error', 'null'], 'error'),
} satisfies OptionTable<TableOptions<unknown>>;
