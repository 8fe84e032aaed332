import type { SchemaElement } from 'hyparquet-writer';
import type { ScalarType } from '../tables/column.js';
import type { CheckedColumns } from '../tables/columns.js';
import { elementType } from '../tables/convert-value.js';

const SCALARS: Readonly<Record<ScalarType, Omit<SchemaElement, 'name'>>> = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/** The schema of a Parquet file with these columns. Every column may be null, the elements of a list not. */
export function parquetSchema(columns: CheckedColumns): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(({ name, type }): SchemaElement[] => {
      const element = elementType(type);
      if (element === undefined)
        return [{ name, repetition_type: 'OPTIONAL', ...SCALARS[type as ScalarType] }];
      return [
        {
          ...{ name, repetition_type: 'OPTIONAL', num_children: 1 },
          ...{ converted_type: 'LIST', logical_type: { type: 'LIST' } },
        },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'REQUIRED', ...SCALARS[element] },
      ];
    }),
  ];
}
