import {
  type Batch,
  batchesOf,
  type Cursor,
  Flow,
  type FlowIdentity,
  type FlowStep,
  identityOf,
  type Operator,
  type Pull,
  type Run,
} from './flow.js';
import { FlowRun } from './flow-run.js';

/** A batch with what only stages of this package tell each other. */
export interface InternalBatch<T> extends Batch<T> {
  /**
   * Releases the memory of the items; bytes among them are empty from then on. A reader that does not
   * call it leaves the memory to the garbage collector.
   */
  readonly release?: (() => void) | undefined;
  /** The content of the gzip file that the items are, where the source has already inflated it. */
  readonly inflated?: Buffer | undefined;
}

export type InternalBatches<T> = AsyncIterable<InternalBatch<T>>;

/** Begins a run. Where `releases` is true, the reader calls `release` once it has used the items. */
type OpenInternal<T> = (run: Run, releases: boolean) => InternalBatches<T>;

/**
 * A flow whose batches can be released. Without it, V8 holds a full collection every few blocks to find
 * unused ones, a fifth of the time that reading an archive takes. It is not public: code that keeps
 * items after their release would find them empty.
 */
export class InternalFlow<T> extends Flow<T> {
  readonly #open: OpenInternal<T>;

  constructor(open: OpenInternal<T>, signal?: AbortSignal, identity?: FlowIdentity) {
    super(run => open(run, false), signal, identity);
    this.#open = open;
  }

  /** The batches, for a reader that releases them. */
  releasable(pull: Pull = {}): InternalBatches<T> {
    const open = (run: Run) => this.#open(run, true);
    return { [Symbol.asyncIterator]: () => new FlowRun<InternalBatch<T>, Pull>(open, pull) };
  }
}

/** The batches of any async iterable, for a reader that releases those that can be released. */
export function internalBatchesOf<T>(input: AsyncIterable<T>, pull: Pull = {}): InternalBatches<T> {
  return input instanceof InternalFlow
    ? (input as InternalFlow<T>).releasable(pull)
    : batchesOf(input, pull);
}

/**
 * An `operator` that passes the `release` of each input batch on, as `{ ...batch, items }` does, or
 * calls it. It must keep nothing of a batch otherwise.
 */
export function internalOperator<In, Out>(
  run: (
    input: InternalBatches<In>,
    run: Run,
    open: (resume: Cursor | undefined) => InternalBatches<In>,
  ) => InternalBatches<Out>,
  { step }: { readonly step?: FlowStep | undefined } = {},
): Operator<In, Out> {
  return input =>
    new InternalFlow(
      (at, releases) => {
        const read = releases ? internalBatchesOf : batchesOf;
        return run(read(input, at), at, resume => read(input, { ...at, resume }));
      },
      undefined,
      identityOf(input, step),
    );
}
