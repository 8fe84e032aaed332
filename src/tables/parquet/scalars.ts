import type { ColumnType, ScalarType } from '../column.js';
import { elementType } from '../convert-value.js';

/**
 * The properties of a scalar type. It is the type of a column's values, or of the elements if the column
 * contains lists.
 */
interface Scalar {
  /** The size of a value in bytes; 0 for strings, because each string has a different length. */
  readonly width: number;
  /** The number by which `encode-values.as` identifies the type. */
  readonly kind: number;
  /** The number of this type in the enumeration `Type` of the Parquet format. */
  readonly physical: number;
}

export const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  string: { width: 0, kind: 0, physical: 6 },
  boolean: { width: 1, kind: 1, physical: 0 },
  int32: { width: 4, kind: 2, physical: 1 },
  int64: { width: 8, kind: 3, physical: 2 },
  double: { width: 8, kind: 4, physical: 5 },
  timestamp: { width: 8, kind: 3, physical: 2 },
};

/** Returns the type of the values of a column. For a list, this is the type of the elements. */
export function scalarOf(type: ColumnType): ScalarType {
  return elementType(type) ?? (type as ScalarType);
}
