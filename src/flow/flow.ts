import type { Json } from '../json/json.js';
import { foreignBatches } from './iterable-batches.js';
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
   * May be empty: a filter that drops all still forwards the cursor. Read-only, valid for ever, but
   * for a pull that `borrows`.
   */
  readonly items: readonly T[];
  /**
   * Set only where a fresh run could start after these items. For bytes that is an edge: the end of
   * a file or document, where whoever decodes them must have come to an end too, or fail.
   */
  readonly cursor?: Cursor | undefined;
  /** The URL or file that the items came from, for error messages. */
  readonly origin?: string | undefined;
  /**
   * Lets go of the memory that the items lie in; bytes among them are empty from then on. Only a pull
   * that `borrows` is given it. Not to call it costs nothing but memory and garbage collection.
   */
  readonly giveBack?: (() => void) | undefined;
}

/** How batches travel. The size of a batch carries no meaning. */
export type Batches<T> = AsyncIterable<Batch<T>>;

/** What goes up with the first pull. */
export interface Pull {
  readonly signal?: AbortSignal | undefined;
  /** Where to begin; the start when absent. */
  readonly resume?: Cursor | undefined;
  readonly progress?: Progress | undefined;
  /** Items are wanted only until the puller calls `giveBack` of their batch. */
  readonly borrows?: boolean | undefined;
}

/** A pull as the stage that it opens sees it: there is always a signal, which ends with the run. */
export interface Run extends Omit<Pull, 'borrows'> {
  readonly signal: AbortSignal;
}

/**
 * Begins a run. Where `lends` is true, whoever reads gives memory back: batches may have a `giveBack`,
 * which is called once their items are used.
 */
export type OpenFlow<T> = (run: Run, lends: boolean) => Batches<T>;

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
    return { [Symbol.asyncIterator]: () => new OpenRun(this.#open, pull) };
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return new Items(new OpenRun(this.#open, { signal: this.#signal }));
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
   * Whether memory that is lent may pass: each batch that comes out has the `giveBack` of one that went
   * in, as `{ ...batch, items }` does, or calls it, and nothing else of that batch is kept. What is kept
   * is empty later.
   * @default false
   */
  readonly handsOn?: boolean | undefined;
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
  { handsOn = false, step }: OperatorOptions = {},
): Operator<In, Out> {
  return input =>
    new Flow(
      (at, lends) => {
        const pull = { ...at, borrows: handsOn && lends };
        return run(batchesOf(input, pull), at, resume => batchesOf(input, { ...pull, resume }));
      },
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
  return new Flow<T>(run => foreignBatches(input, run)).batches(pull);
}

/**
 * One run of a flow. Its signal fires when the puller's does, and when the puller stops early, so a
 * source that waits on it lets go at once: a generator's own `return()` would queue behind the wait.
 */
class OpenRun<T> implements AsyncIterator<Batch<T>, undefined> {
  readonly #open: OpenFlow<T>;
  readonly #pull: Pull;
  readonly #controller = new AbortController();
  #inner: AsyncIterator<Batch<T>> | undefined;
  #unlink: () => void = () => {};
  #waiting = 0;
  #ended = false;
  /** An abort that the reader has not been told of yet. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(open: OpenFlow<T>, pull: Pull) {
    this.#open = open;
    this.#pull = pull;
  }

  get ended(): boolean {
    return this.#ended;
  }

  async next(): Promise<IteratorResult<Batch<T>, undefined>> {
    const { signal } = this.#pull;
    if (signal?.aborted && !this.#ended) this.#close(signal.reason);
    if (this.#ended) return this.#afterEnd();
    this.#waiting++;
    try {
      this.#inner ??= this.#start();
      const result = await this.#inner.next();
      if (!result.done) return result;
      this.#finish();
      return { done: true, value: undefined };
    } catch (error) {
      if (this.#ended && error instanceof Stopped) return { done: true, value: undefined };
      this.#finish(error);
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  async return(): Promise<IteratorResult<Batch<T>, undefined>> {
    if (!this.#ended) {
      this.#finish(new Stopped());
      try {
        await this.#inner?.return?.();
      } catch (error) {
        // A stage may leave its wait by throwing the reason it was given; that is not news.
        if (!(error instanceof Stopped) && error !== this.#pull.signal?.reason) throw error;
      }
    }
    return { done: true, value: undefined };
  }

  #start(): AsyncIterator<Batch<T>> {
    const { borrows = false, ...pull } = this.#pull;
    const { signal } = pull;
    if (signal !== undefined) {
      const onAbort = () => {
        this.#controller.abort(signal.reason);
        if (this.#waiting === 0) this.#close(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#unlink = () => signal.removeEventListener('abort', onAbort);
    }
    const run: Run = { ...pull, signal: this.#controller.signal };
    return this.#open(run, borrows)[Symbol.asyncIterator]();
  }

  /** Between two pulls no one waits on the signal, and the reader may never come back. */
  #close(reason: unknown): void {
    this.#failure = { reason };
    this.#finish(reason);
    Promise.resolve(this.#inner?.return?.()).catch(() => {});
  }

  #afterEnd(): IteratorResult<Batch<T>, undefined> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.reason;
    return { done: true, value: undefined };
  }

  #finish(reason: unknown = new Stopped()): void {
    this.#ended = true;
    this.#unlink();
    this.#controller.abort(reason);
  }
}

/** The reason of a run's signal once the run is over. Whoever started the run never sees it. */
class Stopped extends Error {
  constructor() {
    super('The run is over');
    this.name = 'Stopped';
  }
}

/** Items of a run, one at a time. Calls that overlap are answered in order. */
class Items<T> implements AsyncIterator<T, undefined> {
  readonly #run: OpenRun<T>;
  #items: readonly T[] = [];
  #index = 0;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: OpenRun<T>) {
    this.#run = run;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#waiting === 0 && !this.#run.ended && this.#index < this.#items.length)
      return Promise.resolve({ done: false, value: this.#items[this.#index++] as T });
    this.#waiting++;
    const answer = this.#last.then(() => this.#take()).finally(() => this.#waiting--);
    this.#last = answer.catch(() => {});
    return answer;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    await this.#run.return();
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<T, undefined>> {
    // An abort in the middle of a batch: what is left of it is not wanted any more.
    while (this.#run.ended || this.#index >= this.#items.length) {
      const result = await this.#run.next();
      if (result.done) return { done: true, value: undefined };
      this.#items = result.value.items;
      this.#index = 0;
    }
    return { done: false, value: this.#items[this.#index++] as T };
  }
}
