import { abortable, settledSoon } from '../base/abortable.js';
import {
  checkOptions,
  checkValue,
  func,
  type OptionTable,
  record,
  required,
  text,
} from '../base/check.js';
import type { DamagedRecord } from '../json/records.js';
import type { Json } from '../json/type-guards.js';
import { closeHeld, failureOf, hold, refuseClosed } from './close-streams.js';
import { FlowItems, FlowRun } from './flow-run.js';
import { isMinipass, minipassBatches } from './minipass-streams.js';
import type { Progress } from './progress.js';
import { isWebReadable, webItems } from './web-streams.js';

/**
 * The place in a source from which a new run can start. A cursor is JSON, so that a checkpoint can store it.
 * If a member has `toJSON`, it is converted when the cursor is saved. This may happen after later batches
 * were read, so the result of `toJSON` must not change. An operator that has state wraps the cursor of its
 * input. Only the stage that created a cursor reads it.
 */
export interface Cursor {
  readonly [key: string]: Json | { toJSON(): Json } | Cursor | readonly (Json | Cursor)[];
}

/** Items that arrived together, and a cursor from which to resume after them. */
export interface Batch<T> {
  /**
   * The items, in order. May be empty, because a filter that drops all items still forwards the cursor.
   * Read-only. The array and its items stay valid after the next batch is read.
   */
  readonly items: readonly T[];
  /**
   * Set only if a new run could start after these items. In a flow of bytes, it marks the end of a file or
   * document. If a decoder or framer is in the middle of a record at that point, it fails.
   */
  readonly cursor?: Cursor | undefined;
  /** The URL or file from which the items came, for error messages. */
  readonly origin?: string | undefined;
}

/** The batches of a flow. How the items are divided into batches has no meaning. */
export type Batches<T> = AsyncIterable<Batch<T>>;

/** The options with which a reader opens a flow. */
export interface Pull {
  /** Ends the run, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** The cursor from which the run starts. If absent, the run starts from the beginning. */
  readonly resume?: Cursor | undefined;
  /** Counters that stages add to. */
  readonly progress?: Progress | undefined;
  /**
   * Receives the records that built-in stages cannot use and therefore skip. A sink with the option `damaged`
   * sets this member. If it is absent and the stage has no `onDamaged`, such a record ends the run.
   */
  readonly damaged?: DamagedRecords | undefined;
}

/** Receives the records that stages cannot use. */
export interface DamagedRecords {
  /** Called by a stage at the start of each run. */
  stage(): DamagedStage;
}

/** Receives the damaged records of one run of a stage. */
export interface DamagedStage {
  /**
   * Receives a damaged record. The stage continues when the promise resolves. If it rejects, the run ends.
   */
  keep(record: DamagedRecord, error: unknown): Promise<void>;
  /**
   * Called before a cursor is delivered. All records that were passed to `keep` so far come before this
   * cursor.
   */
  reached(cursor: Cursor): void;
}

/** The argument with which a stage is opened. It always has a signal, which fires when the run ends. */
export interface Run extends Pull {
  readonly signal: AbortSignal;
}

/** Starts a run. Called when the first batch of a run is read, so each run has its own state. */
export type OpenFlow<T> = (run: Run) => Batches<T>;

/**
 * How a checkpoint records a stage: the name of the stage, and the options that decide its output. Never
 * contains a secret.
 */
export interface FlowStep {
  readonly step: string;
  readonly [option: string]: Json;
}

/**
 * Identifies a flow: its source, then the stages that decide its output. A checkpoint records the identity
 * and refuses to resume a flow with a different one. Stages without a `FlowStep` are not part of the
 * identity.
 */
export type FlowIdentity = readonly FlowStep[];

/**
 * A lazy stream. `for await` reads its items; stages read its batches. Nothing is opened before the first
 * read. Each reader starts a separate run.
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
  /** Identifies the flow. A checkpoint records it, so that it never resumes a different flow. */
  readonly identity: FlowIdentity;

  /**
   * @param open Called for each run, when its first batch is read.
   * @param signal Ends a `for await` loop over the items, even in the middle of a batch.
   * @param identity Identifies the flow for checkpoints; see `FlowIdentity`.
   */
  constructor(open: OpenFlow<T>, signal?: AbortSignal, identity: FlowIdentity = []) {
    checkValue('new Flow', 'open', OPEN, open);
    // After an abort, the caller's code may take long to end, so the run waits for it only briefly.
    this.#open = this instanceof OwnFlow ? open : run => abandoned(open(run), run.signal);
    this.#signal = signal;
    this.identity = identity;
  }

  /** Returns the batches of a new run. The run starts at the first read. */
  batches(pull: Pull = {}): Batches<T> {
    return { [Symbol.asyncIterator]: () => new FlowRun(this.#open, pull) };
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    const run = new FlowRun<Batch<T>, Pull>(this.#open, { signal: this.#signal });
    return new FlowItems<T>(run, () => closeHeld(this));
  }
}

/** Describes a flow that consists of built-in stages. Only the engine in `src/files` reads it. */
export interface FlowPlan {
  /** Returns the same plan with a check that runs at the start of each run and may throw. */
  guarded(check: () => void): FlowPlan;
}

interface OwnFlowOptions {
  readonly signal?: AbortSignal | undefined;
  readonly identity?: FlowIdentity;
  readonly plan?: FlowPlan | undefined;
}

/**
 * A flow that this package creates. If a run is aborted during a read, the read waits until the flow has
 * closed everything that it opened. In any other flow, the read waits only briefly.
 */
export class OwnFlow<T> extends Flow<T> {
  /**
   * The built-in stages of the flow. The engine can process whole files with them instead of
   * reading the flow.
   */
  readonly plan: FlowPlan | undefined;

  constructor(open: OpenFlow<T>, { signal, identity, plan }: OwnFlowOptions = {}) {
    super(open, signal, identity);
    this.plan = plan;
  }
}

export function planOf(input: AsyncIterable<unknown>): FlowPlan | undefined {
  return input instanceof OwnFlow ? input.plan : undefined;
}

export function sourceFlow<T>(step: FlowStep, open: OpenFlow<T>): Flow<T> {
  return new OwnFlow(open, { identity: [step] });
}

export function boundFlow<T>(
  input: AsyncIterable<T>,
  { signal, progress }: Pick<Run, 'signal' | 'progress'>,
): Flow<T> {
  return new OwnFlow(
    run => batchesOf(input, { ...run, signal: AbortSignal.any([run.signal, signal]), progress }),
    // The engine can still run the plan of the input. When `signal` fires, a `for await` loop over the new
    // flow ends.
    { plan: planOf(input), signal, identity: identityOf(input) },
  );
}

/**
 * Wraps batches so that a read rejects shortly after the signal fires, even if the next batch never arrives.
 */
function abandoned<T>(batches: Batches<T>, signal: AbortSignal): Batches<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      return {
        next: () => settledSoon(iterator.next(), signal),
        async return() {
          if (iterator.return !== undefined) await settledSoon(iterator.return(), signal);
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** A stage between a source and a sink. It takes any async iterable and returns a `Flow`. */
export type Operator<In, Out> = (input: AsyncIterable<In>) => Flow<Out>;

/** The second argument of a sink. The first argument is its input. */
export interface SinkRun {
  /** Fires when the run must end. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: Progress | undefined;
}

/** The end of a pipeline. A sink reads its input to the end and resolves to a result. */
export type Sink<In, Result = void> = (input: AsyncIterable<In>, run?: SinkRun) => Promise<Result>;

/**
 * A function that `pipeline` takes as a sink. Its input is a `Flow`. A sink that stores its own cursor can
 * pass this cursor to `batches`, which then resumes there. The batches use the signal and progress of the
 * pipeline.
 *
 * @example
 * await pipeline(source, async (posts: Flow<Activity>) => {
 *   for await (const { items, cursor } of posts.batches({ resume: database.cursor() }))
 *     database.transaction(items, cursor);
 * });
 */
export type FlowSink<In, Result = void> = (input: Flow<In>, run: SinkRun) => Promise<Result>;

/** Options of `perBatch`: the name under which progress counts dropped items, and how a checkpoint identifies the operator. */
export interface PerBatchOptions extends OperatorOptions {
  /** The name under which progress counts dropped items. */
  readonly name?: string | undefined;
}

/**
 * Creates a stateless operator from a function that transforms the items of one batch. The cursors pass
 * through unchanged.
 *
 * @param transform Returns the new items of the batch.
 * @throws OptionError Immediately, if `transform` is not a function or an option is invalid.
 * @example const english = perBatch<Activity, Activity>(posts => posts.filter(({ lang }) => lang === 'en'));
 */
export function perBatch<In, Out>(
  transform: (items: readonly In[]) => readonly Out[],
  options: PerBatchOptions = {},
): Operator<In, Out> {
  checkValue('perBatch', 'transform', TRANSFORM, transform);
  const { name, step } = checkOptions('perBatch', PER_BATCH_OPTIONS, options);
  return ownOperator<In, Out>(
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

/** Options of `operator`: how a checkpoint identifies the operator. */
export interface OperatorOptions {
  /**
   * The step that a checkpoint records for this operator. The checkpoint refuses to resume with a different
   * operator. Set this option if the operator holds state or decides which items pass.
   */
  readonly step?: FlowStep | undefined;
}

const OPEN = required(func('how to start a run and get its batches'));
const RUN = required(func('how to transform the batches of a run'));
const TRANSFORM = required(func('how to transform a batch of items'));
const OPERATOR_OPTIONS = {
  step: record<FlowStep>('what a checkpoint records of the operator'),
} satisfies OptionTable<OperatorOptions>;
const PER_BATCH_OPTIONS = {
  ...OPERATOR_OPTIONS,
  name: text('how progress counts dropped items'),
} satisfies OptionTable<PerBatchOptions>;

/**
 * Creates an operator that may hold state, change the batches, wait or read ahead. `run` is called once for
 * each run of the flow, so each run has its own state. It must forward the cursors of its input. It must not
 * yield a cursor before the items that come before this cursor in the input.
 *
 * @param run Gets the batches of the input, the run, and `open`. An operator that wraps cursors must ignore
 *   these batches. It must unwrap `run.resume` and pass the result to `open`, which returns the batches after
 *   that cursor.
 * @throws OptionError Immediately, if `run` is not a function or an option is invalid.
 * @example
 * const counted = operator<string, string>(async function* (input) {
 *   let lines = 0;
 *   for await (const batch of input)
 *     yield { ...batch, items: batch.items.map(item => `${++lines} ${item}`) };
 * });
 */
export function operator<In, Out>(
  run: (
    input: Batches<In>,
    run: Run,
    open: (resume: Cursor | undefined) => Batches<In>,
  ) => Batches<Out>,
  options: OperatorOptions = {},
): Operator<In, Out> {
  checkValue('operator', 'run', RUN, run);
  const { step } = checkOptions('operator', OPERATOR_OPTIONS, options);
  return input => hold(new Flow(opened(input, run), undefined, identityOf(input, step)), [input]);
}

export function ownOperator<In, Out>(
  run: RunOperator<In, Out>,
  { step }: OperatorOptions = {},
): Operator<In, Out> {
  return input =>
    hold(new OwnFlow(opened(input, run), { identity: identityOf(input, step) }), [input]);
}

type RunOperator<In, Out> = Parameters<typeof operator<In, Out>>[0];

function opened<In, Out>(input: AsyncIterable<In>, run: RunOperator<In, Out>): OpenFlow<Out> {
  return at => run(batchesOf(input, at), at, resume => batchesOf(input, { ...at, resume }));
}

/**
 * Returns the identity of a flow, by which a checkpoint recognises it. Appends `step` if it is given. An
 * iterable that is not a `Flow` has an empty identity.
 */
export function identityOf(input: AsyncIterable<unknown>, step?: FlowStep): FlowIdentity {
  const identity = input instanceof Flow ? input.identity : [];
  return step === undefined ? identity : [...identity, step];
}

/**
 * Returns the batches of any async iterable. If the iterable is not a `Flow`, the batches have no cursor and,
 * except for a Minipass stream, one item each.
 */
export function batchesOf<T>(input: AsyncIterable<T>, pull: Pull = {}): Batches<T> {
  if (input instanceof Flow) return (input as Flow<T>).batches(pull);
  return new OwnFlow<T>(run => iterableBatches(input, run)).batches(pull);
}

/**
 * Reads an iterable that is not a `Flow`. The iterable may ignore the signal, so an abort ends the run
 * immediately instead of waiting for the iterable.
 */
function iterableBatches<T>(
  input: AsyncIterable<T>,
  run: Run,
): AsyncGenerator<Batch<T>, void, undefined> {
  refuseClosed(input);
  const failure = failureOf(input);
  if (failure !== undefined) throw failure.error;
  return isMinipass(input) ? (minipassBatches(input, run) as never) : batchesOfOne(input, run);
}

async function* batchesOfOne<T>(
  input: AsyncIterable<T>,
  { signal, progress }: Run,
): AsyncGenerator<Batch<T>, void, undefined> {
  const iterator: AsyncIterator<T> = isWebReadable(input)
    ? (webItems(input, signal) as AsyncIterator<T>)
    : input[Symbol.asyncIterator]();
  let finished = false;
  try {
    while (true) {
      const result = await abortable(iterator.next(), signal);
      if (result.done) {
        finished = true;
        return;
      }
      if (progress !== undefined) progress.received++;
      yield { items: [result.value] };
    }
  } finally {
    if (!finished) leave(input, iterator);
  }
}

function leave<T>(input: AsyncIterable<T>, iterator: AsyncIterator<T>): void {
  if ('destroy' in input && typeof input.destroy === 'function') input.destroy();
  else Promise.resolve(iterator.return?.()).catch(() => {});
}
