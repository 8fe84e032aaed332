import type { Records } from './file-records.js';

/** An array whose memory can be transferred between threads. */
export type Memory = Uint8Array | Uint32Array;

/**
 * Defines a column. A column holds one kind of data, such as the id, of all records of a file. A thread reads
 * it when it decodes the file. The main thread then uses it to decide which posts pass, without reading the
 * records. `src/worker.ts` lists all columns that threads can read.
 */
export interface RecordColumnKind<Data = unknown, Options = unknown> {
  /** The name by which threads look up this kind, because functions cannot be sent to a thread. */
  readonly name: string;
  /**
   * Returns a function that reads the column. The function is called once for each file or batch of items. It
   * may rewrite the records, as the column of `matchRules` does.
   */
  create(options: Options): (rows: Records) => Data;
  /** Returns the arrays in `data` that are transferred to the main thread. All other data is copied. */
  moved?(data: Data): readonly Memory[];
  /**
   * Updates a row on the main thread after its item was replaced. Absent if replacing an item does not change
   * the column.
   */
  replace?(data: Data, row: number, item: unknown): void;
  /**
   * Whether the column must be read from the original items, because it cannot be updated after a step has
   * replaced items.
   * @default false
   */
  readonly isFirst?: boolean;
}

/**
 * A column that a step or a sink reads. If several readers use the same object, the column is read only once.
 */
export interface RecordColumn<Data = unknown, Options = unknown> {
  readonly kind: RecordColumnKind<Data, Options>;
  /** The argument of `kind.create`. It is sent to threads by structured clone. */
  readonly options: Options;
}

/** A function that can run in a thread on data that is passed to it, for example to encode a row group. */
export interface ThreadTask<In = unknown, Out = unknown> {
  readonly name: string;
  /**
   * Runs the task in the thread.
   *
   * @throws DataError. The main thread then throws a `DataError` with the same message.
   */
  run(input: In): Out;
  /** Returns the arrays in the input that are transferred to the thread. */
  given(input: In): readonly Memory[];
  /** Returns the arrays in the output that are transferred back. */
  made(output: Out): readonly Memory[];
}

export type RunInThread = <In, Out>(
  task: ThreadTask<In, Out>,
  input: In,
) => Promise<Out> | undefined;
