import { refusePromise } from '../base/abortable.js';
import { DataError } from '../base/errors.js';
import { kindOf, wrongItem } from '../flow/wrong-item.js';
import type { RowValue } from './column.js';
import { converterOf, expectedOf } from './convert-value.js';
import { activityOf } from './post-columns.js';
import { type CheckedColumns, type InvalidValues, kindsOf } from './table-options.js';

/** A function that returns the values of an item's row, in the order of the columns. */
export type RowReader = (item: unknown, origin?: string) => RowValue[];

/**
 * Creates a reader of rows.
 *
 * @param call The name of the function that was called with the columns, for messages.
 * @returns The reader. It throws a `DataError` for an item that the columns cannot read. It also throws a
 * `DataError` for a value that does not fit its column, unless `invalid` is `'null'`.
 */
export function rowReader(
  call: string,
  columns: CheckedColumns,
  invalid: InvalidValues,
): RowReader {
  const kinds = kindsOf(columns);
  const cells = columns.map(({ name, type, value }) => ({
    name,
    type,
    value: value as (item: unknown) => unknown,
    convert: converterOf(type),
  }));
  return (item, origin) => {
    for (const { name, accepts } of kinds)
      if (!accepts(item))
        throw wrongItem(item, {
          need: `The columns of ${call}() are of ${name}`,
          reads: name,
          or: 'pass `columns`: another table such as tables.counts, or columns of your own',
          origin,
        });
    const row: RowValue[] = [];
    for (const { name, type, value, convert } of cells) {
      let given: unknown;
      let cause: unknown;
      try {
        given = value(item);
      } catch (error) {
        // A `DataError` means that the post does not have the field that the column reads. All other errors
        // come from code of the caller, and end the run.
        if (!(error instanceof DataError)) throw error;
        cause = error;
      }
      refusePromise(call, 'columns', given, promised(name));
      if (cause === undefined && (given === null || given === undefined)) {
        row.push(null);
        continue;
      }
      const held = cause === undefined ? convert(given) : undefined;
      if (held === undefined && invalid === 'error') {
        const what =
          cause instanceof Error
            ? cause.message
            : `expected ${expectedOf(type)}, got ${shown(given)}`;
        throw new DataError(
          `Column ${JSON.stringify(name)} of ${named(item)}: ${what}. Pass invalidValues: 'null' to ${call}() to write no value instead`,
          { position: { origin }, cause },
        );
      }
      row.push(held ?? null);
    }
    return row;
  };
}

function promised(name: string): string {
  return `must have values, and that of ${JSON.stringify(name)} is a promise: get what it needs with mapAsync() before the sink`;
}

function named(item: unknown): string {
  try {
    const id = activityOf(item)?.id;
    if (id !== undefined) return `post ${id}`;
  } catch {
    return 'a post without an id';
  }
  return 'an item';
}

function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `an array${value.length > 0 ? ` with ${shown(value[0])}` : ''}`;
  if (value instanceof Date) return 'an invalid Date';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
}
