import { checkValue } from '../base/check.js';
import type { Activity } from '../post/activity.js';
import type { Column, RowValue } from './column.js';
import type { PostColumnName, posts } from './post-columns.js';
import { rowReader } from './row-reader.js';
import { type Columns, listColumns, TABLE_OPTIONS } from './table-options.js';

/**
 * The columns that one entry of a list adds: a post column given by its name, a column, or all columns of a
 * table.
 */
type ColumnsOf<Entry> = Entry extends PostColumnName
  ? (typeof posts)[Entry]
  : Entry extends { readonly name: string; readonly value: unknown }
    ? Entry
    : Entry[keyof Entry];

/** A row as an object, which has the values of the columns by name. */
export type Row<C> = {
  readonly [One in ColumnsOf<C extends readonly (infer Entry)[] ? Entry : C> as One extends {
    readonly name: infer Name extends string;
  }
    ? Name
    : never]: One extends { readonly type: infer Type extends Column<never>['type'] }
    ? RowValue<Type>
    : never;
};

/**
 * Creates a function that converts an item to a row. A row is an object with the values by column name. Use
 * the function with `map`, for example to write to a database or an API.
 *
 * @param columns A table, or a list of columns, tables and names of post columns.
 * @throws OptionError for a name that is unknown or listed twice.
 * @throws DataError from the function, for a value that does not fit its column.
 * @example
 * const rows = await pipeline(
 *   search(account(), { product: '30day', query: 'snow', limit: 100 }),
 *   map(tables.toRow(['id', 'posted_at', 'hashtags'])),
 *   collect(),
 * );
 */
export function toRow<T = Activity, const C = unknown>(
  columns: C & Columns<T>,
): (item: T) => Row<C> {
  checkValue('tables.toRow', 'columns', TABLE_OPTIONS.columns, columns);
  const list = listColumns(columns as Columns<unknown>);
  const read = rowReader('tables.toRow', list, 'error');
  return item => Object.fromEntries(read(item).map((value, i) => [list[i]?.name, value])) as Row<C>;
}
