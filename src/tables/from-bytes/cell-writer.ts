import type { RowValue } from '../column.js';

export interface CellWriter {
  /** Starts the cell of a column. If that cell was already started, discards what was written to it. */
  begin(column: number): void;
  none(): void;
  value(value: RowValue): void;
  int32(value: number): void;
  boolean(value: boolean): void;
  /** @param ms The time in epoch milliseconds. */
  time(ms: number): void;
  /**
   * Writes a string of the current post. `from` and `to` are the offsets of the bytes between its quotes. If
   * `entities` is true, decodes `&amp;`, `&lt;` and `&gt;`. If `prefix` and `prefixEnd` are given, first
   * writes the bytes between these offsets, which must not contain quotes or commas. Returns `false` if it
   * cannot write the string. The caller must then use the column's `value` function.
   */
  text(from: number, to: number, entities: boolean, prefix?: number, prefixEnd?: number): boolean;
  /**
   * Writes a string as an element of a list. `from` and `to` are the offsets of the bytes between its quotes.
   * Returns `false` if it cannot write the string.
   */
  element(from: number, to: number): boolean;
  list(): void;
  endRow(): void;
  /** Discards the cells of the current row, which has not ended. */
  undoRow(): void;
  row(values: readonly RowValue[]): void;
}
