import type { RowEncoding } from './encode-rows.js';
import type { Decoding } from './plan.js';
import type { RecordColumn } from './record-columns.js';
import type { ThreadStart } from './thread-calls.js';

/** What a run does with each file: how it is decoded, which columns are read, how its rows are encoded. */
export interface FileSetup {
  readonly decoding: Decoding;
  readonly columns: readonly RecordColumn[];
  /** How each reader of the plan encodes rows, if it does. */
  readonly encodings: readonly (RowEncoding | undefined)[];
}

/** The same with names of kinds: threads have the kinds themselves. */
export function startOf({ decoding, columns, encodings }: FileSetup): ThreadStart {
  return {
    decoding: { ...decoding, records: decoding.records.name },
    columns: columns.map(({ kind, options }) => ({ name: kind.name, options })),
    encodings: encodings.map(
      one =>
        one && {
          kind: one.kind && { name: one.kind.name, options: one.options },
          compression: one.compression,
        },
    ),
  };
}

/** What was read of each column. */
export function columnsOf(
  { columns }: FileSetup,
  read: readonly unknown[],
): ReadonlyMap<RecordColumn, unknown> {
  return new Map(columns.map((column, index) => [column, read[index]]));
}
