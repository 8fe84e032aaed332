import type { ColumnType, ScalarType } from '../column.js';
import { elementType } from '../convert-value.js';

/** The properties of a scalar type, for a column or for the elements of its lists. */
interface Scalar {
  /** The size of a value in bytes; 0 for strings, which have lengths. */
  readonly width: number;
  /** The number of the type in `encode-values.as`. */
  readonly kind: number;
  /** The number of `Type` in the Parquet format. */
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

/** The type of the values of a column; for a list, of its elements. */
export function scalarOf(type: ColumnType): ScalarType {
  return elementType(type) ?? (type as ScalarType);
}
