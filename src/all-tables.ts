/** What `tables` lists: the columns that `csv` and `parquet` write, by kinds of items. */
export { complianceEvents } from './compliance/compliance-columns.js';
export { counts } from './search/count-columns.js';
export type {
  Column,
  ColumnType,
  GivenValue,
  RowValue,
  ScalarType,
  Table,
} from './tables/column.js';
export type { Columns } from './tables/columns.js';
export { toCsv } from './tables/csv/to-csv.js';
export { type PostColumnName, type PostItem, posts, users } from './tables/post-columns.js';
export type { InvalidValues } from './tables/row-reader.js';
export type { NeedsColumns, TableOptions } from './tables/table-options.js';
export { type Row, toRow } from './tables/to-row.js';
export { usage } from './usage/usage-columns.js';
export { engagementColumns as engagement } from './users/engagement-columns.js';
