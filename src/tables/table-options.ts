import { explained, type OptionTable, oneOf, shownValue } from '../base/check.js';
import { didYouMean } from '../base/closest.js';
import { isRecord } from '../base/record.js';
import { type Column, type ItemKind, kindOfColumn, type Table } from './column.js';
import { isColumnType, SCALAR_TYPES } from './convert-value.js';
import { type PostColumnName, type PostItem, posts } from './post-columns.js';

/** What happens to a value that does not fit its column: `'error'` ends the run, `'null'` writes no value. */
export type InvalidValues = 'error' | 'null';

/**
 * The columns for the rows of a sink. Either a table such as `tables.counts`, or a list of columns, tables, and
 * names of columns of `tables.posts`.
 */
export type Columns<T> = Table<T> | ListOf<PostColumnName | Column<T> | Table<NoInfer<T>>>;

/**
 * The type of a list of columns. The tuple type does not accept more lists than the array type, but improves
 * the error message. With it, the compiler compares a literal list element by element, and reports only the
 * wrong element.
 */
type ListOf<Element> = [Element, ...Element[]] | readonly Element[];

const POST_COLUMNS: { readonly [name: string]: Column<PostItem> } = posts;

/** Columns that were checked, in the order of the row. */
export type CheckedColumns = readonly Column<never>[];

/**
 * Lists the chosen columns; by default, all columns of posts. Skips unknown names, because `columnsProblem`
 * reports them.
 */
export function listColumns<T>(chosen?: Columns<T>): CheckedColumns {
  if (chosen === undefined) return Object.values(posts);
  if (!Array.isArray(chosen)) return Object.values(chosen as Table<never>);
  return (chosen as readonly (string | Column<never> | Table<never>)[]).flatMap(one => {
    if (typeof one === 'string') return POST_COLUMNS[one] ?? [];
    return isColumn(one) ? one : Object.values(one);
  });
}

/**
 * Returns why the columns that were passed to a function are invalid. The caller puts the name of the option
 * before this text.
 */
export function columnsProblem(chosen: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(chosen) ? chosen : [chosen];
  if (list.length === 0) return 'must have at least one column';
  for (const one of list) {
    const problem = partProblem(one, Array.isArray(chosen));
    if (problem !== undefined) return problem;
  }
  return clash(listColumns(chosen as Columns<never>));
}

/** Returns the columns in the form that a checkpoint stores. A run with different columns is refused. */
export function settingsOf(columns: CheckedColumns): string[] {
  return columns.map(({ name, type }) => `${name} ${type}`);
}

export function kindsOf(columns: CheckedColumns): readonly ItemKind[] {
  return [...new Set(columns.map(kindOfColumn))].filter(kind => kind !== undefined);
}

/**
 * Returns whether the caller has defined any of the columns. The function of such a column may keep the items
 * that it gets.
 */
export function hasOwnColumns(columns: CheckedColumns): boolean {
  return columns.some(column => kindOfColumn(column) === undefined);
}

export function postColumnNames(columns: CheckedColumns): PostColumnName[] | undefined {
  const isOfPosts = columns.every(column => POST_COLUMNS[column.name] === (column as unknown));
  return isOfPosts ? columns.map(({ name }) => name as PostColumnName) : undefined;
}

function partProblem(part: unknown, isListed: boolean): string | undefined {
  if (typeof part === 'string' && isListed) {
    if (Object.hasOwn(POST_COLUMNS, part)) return undefined;
    const hint =
      didYouMean(part, Object.keys(POST_COLUMNS), JSON.stringify) ??
      'src/tables/README.md lists them';
    return `has no column ${JSON.stringify(part)} of posts; ${hint}`;
  }
  if (isColumn(part)) return isListed ? columnProblem(part) : `must be a list, got one column`;
  if (!isRecord(part))
    return 'must be a table such as tables.posts, or a list of names of post columns, columns and tables';
  const columns = Object.values(part);
  if (columns.length === 0) return 'must have at least one column';
  for (const column of columns) {
    const problem = columnProblem(column);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function columnProblem(column: unknown): string | undefined {
  const { name, type, value, meaning, ...others } = Object(column) as Readonly<
    Record<string, unknown>
  >;
  if (typeof name !== 'string' || name.trim() === '' || /[\p{Cc}\p{Surrogate}]/u.test(name))
    return `must have columns with a \`name\`: text that is not empty, without control characters, got ${shownValue(name)}`;
  const called = JSON.stringify(name);
  if (!isColumnType(type))
    return `must have a \`type\` for ${called}: ${SCALAR_TYPES.join(', ')}, or a list such as list<string>, got ${shownValue(type)}`;
  if (typeof value !== 'function')
    return `must have a \`value\` for ${called}: a function that returns it for an item`;
  const [unknown] = Object.keys(others);
  return unknown === undefined
    ? undefined
    : `has an unknown member \`${unknown}\` of ${called}; known are name, type, meaning and value`;
}

/**
 * Returns why column names clash; `undefined` if they do not. Two names clash if they differ at most in case,
 * because SQL ignores case.
 */
function clash(columns: CheckedColumns): string | undefined {
  const seen = new Map<string, string>();
  for (const { name } of columns) {
    const before = seen.get(name.toLowerCase());
    if (before === name) return `must have each column once, and has ${JSON.stringify(name)} twice`;
    if (before !== undefined)
      return `must have names that differ in more than their case: DuckDB takes ${JSON.stringify(before)} and ${JSON.stringify(name)} for one`;
    seen.set(name.toLowerCase(), name);
  }
  return undefined;
}

/**
 * Returns whether `part` is a column, not a table. A table may also have members called `name`, `type` or
 * `value`, but each member of a table is a column object.
 */
function isColumn(part: unknown): part is Column<never> {
  const { name, type, value } = Object(part) as Readonly<Record<string, unknown>>;
  return typeof name === 'string' || typeof type === 'string' || typeof value === 'function';
}

/** Options of all sinks that write rows: the columns, and what to do with invalid values. */
export interface TableOptions<T> {
  /**
   * The columns of the rows: a table such as `tables.counts`, or a list. A list may contain your own columns,
   * columns of tables, whole tables, and names of columns of `tables.posts`.
   * @default tables.posts
   */
  readonly columns?: Columns<T> | undefined;
  /**
   * What happens to a value that does not fit the type of its column. `'error'` throws a `DataError` that names
   * the post and the column. `'null'` writes no value.
   * @default 'error'
   */
  readonly invalidValues?: InvalidValues | undefined;
}

/**
 * Makes `columns` required unless the items are posts. Only posts have default columns, and columns that can be
 * chosen by name.
 */
export type NeedsColumns<T> = [T] extends [PostItem]
  ? unknown
  : { readonly columns: ColumnsWithNoNames<NoInfer<T>> };

/** Columns for items that are not posts. */
export type ColumnsWithNoNames<T> = Table<T> | readonly (Column<T> | Table<T>)[];

export const TABLE_OPTIONS = {
  columns: explained<Columns<unknown>>('the columns of a row', columnsProblem),
  invalidValues: oneOf('what happens to values that do not fit', ['error', 'null'], 'error'),
} satisfies OptionTable<TableOptions<unknown>>;
