import type { Records } from './file-records.js';

/** An array whose memory may move from one thread to another. */
export type Memory = Uint8Array | Uint32Array;

/**
 * Something that is read from each record where its file is decoded, so that the main thread can decide over arrays while
 * the bytes stay with the thread. A step or a sink defines the kinds that it reads; `src/worker.ts` lists them for threads.
 */
export interface RecordColumnKind<Data = unknown, Options = unknown> {
  /** The name that threads know it by. */
  readonly name: string;
  /**
   * Returns what reads the column of one file after the other, or of one batch of items. It may rewrite the records, as
   * `matchRules` does.
   */
  create(options: Options): (rows: Records) => Data;
  /** The arrays of `Data` whose memory moves to the main thread; others are copied. */
  moved?(data: Data): readonly Memory[];
  /** Sets the row of an item that replaces another, on the main thread. Absent if replacing does not change the column. */
  replace?(data: Data, row: number, item: unknown): void;
  /** Whether it cannot be read after a step that replaces items. @default false */
  readonly isFirst?: boolean;
}

/** A column that a step or a sink reads. Readers of one column share it by this object. */
export interface RecordColumn<Data = unknown, Options = unknown> {
  readonly kind: RecordColumnKind<Data, Options>;
  /** Sent to threads: what a structured clone can copy. */
  readonly options: Options;
}

/** A function that can run in a thread on data passed to it, such as encoding a row group. */
export interface ThreadTask<In = unknown, Out = unknown> {
  /** The name that threads know it by. */
  readonly name: string;
  /** @throws DataError, which the main thread throws, too. */
  run(input: In): Out;
  /** The arrays of the input that move to the thread. */
  given(input: In): readonly Memory[];
  /** The arrays of the result that move back. */
  made(output: Out): readonly Memory[];
}

/** Runs tasks in threads; returns `undefined` if there are none. */
export type RunInThread = <In, Out>(
  task: ThreadTask<In, Out>,
  input: In,
) => Promise<Out> | undefined;
