import type { RowValue } from '../column.js';

/** Receives the cells of rows, one after the other. */
export interface CellWriter {
  /** Starts the cell of a column. If the cell was started before, discards what was written of it. */
  begin(column: number): void;
  none(): void;
  value(value: RowValue): void;
  int32(value: number): void;
  boolean(value: boolean): void;
  /** @param ms The time in epoch milliseconds. */
  time(ms: number): void;
  /**
   * Writes the string between two quotes of the current post, optionally after a prefix, which is other bytes
   * of the post without quotes and commas. Returns `false` if the string must be written by the column
   * instead.
   */
  text(from: number, to: number, entities: boolean, prefix?: number, prefixEnd?: number): boolean;
  /** Writes an element of a list, like `text`. */
  element(from: number, to: number): boolean;
  /** Ends the current list. */
  list(): void;
  endRow(): void;
  /** Discards the cells of a row that has not ended. */
  undoRow(): void;
  /** Writes a whole row. */
  row(values: readonly RowValue[]): void;
}
