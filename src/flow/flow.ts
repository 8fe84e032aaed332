import type { Json } from '../json/json.js';
import { FlowItems } from './flow-items.js';
import { FlowRun } from './flow-run.js';
import { iterableBatches } from './iterable-batches.js';
import type { Progress } from './progress.js';

/**
 * A place in a source where a fresh run could start. JSON, so that a checkpoint can hold it; a value
 * with `toJSON` is turned into JSON only when someone keeps the cursor. An operator with state of its
 * own wraps the cursor of its input. Opaque to all but its maker.
 */
export interface Cursor {
  readonly [key: string]: Json | { toJSON(): Json } | Cursor;
}

/** What arrived together, and the place to go on from once these items are safe. */
export interface Batch<T> {
  /**
   * The items, in order. May be empty: a filter that drops all items still forwards the cursor.
   * Read-only; items and array stay valid after the next pull.
   */
  readonly items: readonly T[];
  /**
   * Set only where a fresh run could start after these items. For bytes that is an edge: the end of
   * a file or document, where whoever decodes them must have come to an end too, or fail.
   */
  readonly cursor?: Cursor | undefined;
  /** The URL or file that the items came from, for error messages. */
  readonly origin?: string | undefined;
}

/** How batches travel. The size of a batch carries no meaning. */
export type Batches<T> = AsyncIterable<Batch<T>>;

/** What goes up with the first pull. */
export interface Pull {
  readonly signal?: AbortSignal | undefined;
  /** Where to begin; the start when absent. */
  readonly resume?: Cursor | undefined;
  readonly progress?: Progress | undefined;
}

/** What a stage is opened with. Its signal always exists, and fires when the run ends. */
export interface Run extends Pull {
  readonly signal: AbortSignal;
}

/** Begins a run. Called at its first pull; each run has its own state. */
export type OpenFlow<T> = (run: Run) => Batches<T>;

/**
 * One stage of a flow as a checkpoint remembers it: its name, and the options that decide what comes
 * out of it. Never a secret.
 */
export interface FlowStep {
  readonly step: string;
  readonly [option: string]: Json;
}

/**
 * What tells a flow from another: its source, then the stages that decide what comes. A checkpoint
 * holds it, and refuses a flow that is another. Stages that say nothing of themselves are not in it.
 */
export type FlowIdentity = readonly FlowStep[];

/**
 * A lazy stream. `for await` sees items; stages see batches. Nothing opens before the first pull,
 * and each opening is a run of its own.
 *
 * @example
 * const squares = new Flow(async function* () {
 *   yield { items: [1, 4, 9] };
 * });
 * for await (const square of squares) console.log(square);
 */
export class Flow<T> implements AsyncIterable<T> {
  readonly #open: OpenFlow<T>;
  readonly #signal: AbortSignal | undefined;
  /** What a checkpoint compares, so that it never answers for another flow. */
  readonly identity: FlowIdentity;

  /**
   * @param open Called for each run, at its first pull.
   * @param signal Ends `for await` over the items, also in the middle of a batch.
   * @param identity What tells this flow from another, see `FlowIdentity`.
   */
  constructor(open: OpenFlow<T>, signal?: AbortSignal, identity: FlowIdentity = []) {
    this.#open = open;
    this.#signal = signal;
    this.identity = identity;
  }

  batches(pull: Pull = {}): Batches<T> {
    return { [Symbol.asyncIterator]: () => new FlowRun(this.#open, pull) };
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return new FlowItems<T>(new FlowRun<Batch<T>, Pull>(this.#open, { signal: this.#signal }));
  }
}

export type Operator<In, Out> = (input: AsyncIterable<In>) => Flow<Out>;

/** What a sink is told besides its input. */
export interface SinkRun {
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
}

export type Sink<In, Result = void> = (input: AsyncIterable<In>, run?: SinkRun) => Promise<Result>;

/**
 * An operator without state: a plain function on the items of one batch. The cursor is kept.
 * With a name, items that it leaves out count as dropped by that name.
 */
export function perBatch<In, Out>(
  transform: (items: readonly In[]) => readonly Out[],
  { name, step }: { readonly name?: string; readonly step?: FlowStep | undefined } = {},
): Operator<In, Out> {
  return operator<In, Out>(
    async function* (input, { progress }) {
      for await (const batch of input) {
        const items = transform(batch.items);
        if (name !== undefined) progress?.drop(name, batch.items.length - items.length);
        yield { ...batch, items };
      }
    },
    { step },
  );
}

export interface OperatorOptions {
  /**
   * What a checkpoint remembers of this operator: a run with another is refused. For one that holds
   * state or decides what passes.
   */
  readonly step?: FlowStep | undefined;
}

/**
 * An operator that owns its run: it holds state, re-frames, waits or reads ahead, and forwards
 * cursors itself, never ahead of the items. State is born inside `run`, so a flow can be opened twice.
 * `open` lets it unwrap its own part of a cursor: it returns the batches of the input from there.
 *
 */
export function operator<In, Out>(
  run: (
    input: Batches<In>,
    run: Run,
    open: (resume: Cursor | undefined) => Batches<In>,
  ) => Batches<Out>,
  { step }: OperatorOptions = {},
): Operator<In, Out> {
  return input =>
    new Flow(
      at => run(batchesOf(input, at), at, resume => batchesOf(input, { ...at, resume })),
      undefined,
      identityOf(input, step),
    );
}

/** The identity of a flow, and of one more stage of it. Any other iterable has none. */
export function identityOf(input: AsyncIterable<unknown>, step?: FlowStep): FlowIdentity {
  const identity = input instanceof Flow ? input.identity : [];
  return step === undefined ? identity : [...identity, step];
}

/** The batches of any async iterable: a `Flow`'s own, or batches of one with no cursor. */
export function batchesOf<T>(input: AsyncIterable<T>, pull: Pull = {}): Batches<T> {
  if (input instanceof Flow) return (input as Flow<T>).batches(pull);
  return new Flow<T>(run => iterableBatches(input, run)).batches(pull);
}
