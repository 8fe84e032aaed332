import type { RowValue } from '../column.js';

/** Takes the cells of rows, one after the other. */
export interface CellWriter {
  /** Begins the cell of a column, or begins it again: what was written of it is gone. */
  begin(column: number): void;
  none(): void;
  value(value: RowValue): void;
  int32(value: number): void;
  boolean(value: boolean): void;
  /** @param ms Epoch milliseconds. */
  time(ms: number): void;
  /**
   * A text between two quotes of the post that is being read, and bytes of the post before it: without quotes
   * and commas. `false` where it has to be read in another way.
   */
  text(from: number, to: number, entities: boolean, prefix?: number, prefixEnd?: number): boolean;
  /** An element of a list: as `text`. */
  element(from: number, to: number): boolean;
  /** Ends a list. */
  list(): void;
  endRow(): void;
  /** Forgets the cells of a row that has not ended. */
  undoRow(): void;
  /** A whole row. */
  row(values: readonly RowValue[]): void;
}
