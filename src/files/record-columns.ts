import type { Records } from './file-records.js';

/** An array whose memory can be transferred between threads. */
export type Memory = Uint8Array | Uint32Array;

/**
 * Data that is read from each record on the thread that decodes the file. The main thread can then decide by
 * arrays, without the bytes. A step or a sink defines the kinds that it reads; `src/worker.ts` lists them for
 * threads.
 */
export interface RecordColumnKind<Data = unknown, Options = unknown> {
  /** The name of the kind in calls to threads. */
  readonly name: string;
  /**
   * Returns a function that reads the column of a file or of a batch of items, and is called again for each.
   * The function may rewrite the records, as `matchRules` does.
   */
  create(options: Options): (rows: Records) => Data;
  /** The arrays of `Data` that are transferred to the main thread. Others are copied. */
  moved?(data: Data): readonly Memory[];
  /**
   * Updates a row on the main thread if its item was replaced. Absent if replacing items does not change the
   * column.
   */
  replace?(data: Data, row: number, item: unknown): void;
  /** Whether the column must be read before any step replaces items. @default false */
  readonly isFirst?: boolean;
}

/** A column that a step or a sink reads. Readers share a column by using the same object. */
export interface RecordColumn<Data = unknown, Options = unknown> {
  readonly kind: RecordColumnKind<Data, Options>;
  /** The options of the kind, which are sent to threads by structured clone. */
  readonly options: Options;
}

/** A function that can run in a thread on data that is passed to it, for example to encode a row group. */
export interface ThreadTask<In = unknown, Out = unknown> {
  /** The name of the task in calls to threads. */
  readonly name: string;
  /** @throws DataError, which is thrown on the main thread, too. */
  run(input: In): Out;
  /** The arrays of the input that are transferred to the thread. */
  given(input: In): readonly Memory[];
  /** The arrays of the output that are transferred back. */
  made(output: Out): readonly Memory[];
}

/** Runs tasks in threads; returns `undefined` if there are none. */
export type RunInThread = <In, Out>(
  task: ThreadTask<In, Out>,
  input: In,
) => Promise<Out> | undefined;
