import type { ColumnType, ScalarType } from '../column.js';
import { elementType } from '../convert-value.js';

/** What a column holds, or each element of its lists. */
interface Scalar {
  /** The bytes of a value; 0 for strings, which have lengths. */
  readonly width: number;
  /** The number that `encode-values.as` knows it by. */
  readonly kind: number;
  /** `Type` of the format. */
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
