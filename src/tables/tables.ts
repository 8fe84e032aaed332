/**
 * The columns for `csv` and `parquet`, by the kind of items that they read. The package exports them as the
 * namespace `tables`.
 */

export type {
  Column,
  ColumnType,
  GivenValue,
  RowValue,
  ScalarType,
  Table,
} from './column.js';
export { complianceEvents } from './compliance-columns.js';
export { countColumns as counts } from './count-columns.js';
export { toCsv } from './csv/to-csv.js';
export { engagementColumns as engagement } from './engagement-columns.js';
export { type PostColumnName, type PostItem, posts, users } from './post-columns.js';
export type { Columns, InvalidValues, NeedsColumns, TableOptions } from './table-options.js';
export { type Row, toRow } from './to-row.js';
export { usageColumns as usage } from './usage-columns.js';
