import type { Scan } from '../scan/scan.js';
import type { ScannedItems } from '../scan/scanned-items.js';
import {
  type Batch,
  batchesOf,
  type Cursor,
  type FlowIdentity,
  type FlowStep,
  identityOf,
  type Operator,
  OwnFlow,
  type Pull,
  type Run,
} from './flow.js';
import { FlowRun } from './flow-run.js';
import { hold } from './held-streams.js';

/** A batch with what only stages of this package tell each other. */
export interface InternalBatch<T> extends Batch<T> {
  /**
   * Releases the memory of the items; bytes among them are empty from then on. A reader that does not
   * call it leaves the memory to the garbage collector.
   */
  readonly release?: (() => void) | undefined;
  /** The content of the gzip file that the items are, where the source has already inflated it. */
  readonly inflated?: Buffer | undefined;
  /**
   * Posts of a whole file whose content is in another thread, in place of `items`; only for a reader with a
   * `scan` or `fileScan`.
   */
  readonly scanned?: ScannedItems | undefined;
}

export type InternalBatches<T> = AsyncIterable<InternalBatch<T>>;

/** What a reader does with batches. */
export interface Reader {
  /** Whether it calls `release` once it has used the items. */
  readonly releases: boolean;
  /** Set where it accepts posts whose content is in other threads. */
  readonly scan?: Scan | undefined;
  /**
   * Set where it makes posts of bytes, and accepts those of a whole file from this scan, which does what
   * it and the stages after it would do with the bytes.
   */
  readonly fileScan?: Scan | undefined;
}

const KEEPS: Reader = { releases: false };
const RELEASES: Reader = { releases: true };

/** Begins a run. */
type OpenInternal<T> = (run: Run, reader: Reader) => InternalBatches<T>;

/**
 * A flow whose batches can be released. Without it, V8 holds a full collection every few blocks to find
 * unused ones, a fifth of the time that reading an archive takes. It is not public: code that keeps
 * items after their release would find them empty.
 */
export class InternalFlow<T> extends OwnFlow<T> {
  readonly #open: OpenInternal<T>;

  constructor(open: OpenInternal<T>, signal?: AbortSignal, identity?: FlowIdentity) {
    super(run => open(run, KEEPS), signal, identity);
    this.#open = open;
  }

  /** The batches, for a reader that releases them. */
  releasable(pull: Pull = {}, reader: Reader = RELEASES): InternalBatches<T> {
    const open = (run: Run) => this.#open(run, reader);
    return { [Symbol.asyncIterator]: () => new FlowRun<InternalBatch<T>, Pull>(open, pull) };
  }
}

/** The batches of any async iterable, for a reader that releases those that can be released. */
export function internalBatchesOf<T>(
  input: AsyncIterable<T>,
  pull: Pull = {},
  reader: Reader = RELEASES,
): InternalBatches<T> {
  return input instanceof InternalFlow && reader.releases
    ? (input as InternalFlow<T>).releasable(pull, reader)
    : batchesOf(input, pull);
}

/** Options of `internalOperator`. */
export interface InternalOperatorOptions {
  readonly step?: FlowStep | undefined;
  /**
   * How it reads its input, for an operator that accepts `scanned` batches.
   * @default only `releases`, as its own reader
   */
  readonly reads?: ((reader: Reader) => Reader) | undefined;
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
    reader: Reader,
  ) => InternalBatches<Out>,
  { step, reads = ({ releases }) => ({ releases }) }: InternalOperatorOptions = {},
): Operator<In, Out> {
  return input => {
    const open: OpenInternal<Out> = (at, outer) => {
      const reader = reads(outer);
      return run(
        internalBatchesOf(input, at, reader),
        at,
        resume => internalBatchesOf(input, { ...at, resume }, reader),
        reader,
      );
    };
    return hold(new InternalFlow(open, undefined, identityOf(input, step)), [input]);
  };
}
