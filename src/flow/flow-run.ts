import { onceAborted } from '../base/abortable.js';
import { MillraceError } from '../base/errors.js';
import { isRecord } from '../base/record.js';

/** The options of a `Pull`, with the signal of the run instead of the reader's signal. */
type Opened<P> = Omit<P, 'signal'> & { readonly signal: AbortSignal };

/**
 * One run of a flow. Its signal fires when the run ends, for example because the reader's signal fires or the
 * reader stops early. A source that is waiting can then stop immediately. Without the signal, a call of the
 * generator's `return()` would take effect only after the wait.
 */
export class FlowRun<
  Batch extends { readonly cursor?: unknown },
  P extends { readonly signal?: AbortSignal | undefined },
> implements AsyncIterator<Batch, undefined>
{
  readonly #open: (run: Opened<P>) => AsyncIterable<Batch>;
  readonly #pull: P;
  readonly #controller = new AbortController();
  #inner: AsyncIterator<Batch> | undefined;
  #unlink: () => void = () => {};
  #pending = 0;
  #ended = false;
  #cursor: unknown;
  /** Set if an abort has ended the run, and the reader has not received its reason yet. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(open: (run: Opened<P>) => AsyncIterable<Batch>, pull: P) {
    this.#open = open;
    this.#pull = pull;
  }

  get ended(): boolean {
    return this.#ended;
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    const { signal } = this.#pull;
    if (signal?.aborted && !this.#ended) this.#close(signal.reason);
    if (this.#ended) return this.#afterEnd();
    this.#pending++;
    try {
      this.#inner ??= this.#start();
      const result = await this.#inner.next();
      if (!result.done) {
        this.#cursor = result.value.cursor ?? this.#cursor;
        return result;
      }
      this.#finish();
      return { done: true, value: undefined };
    } catch (error) {
      if (this.#ended && error instanceof Stopped) return { done: true, value: undefined };
      this.#finish(error);
      // Adds no cursor to the reason of an abort. An abort is not an error of the source, and the sink may
      // not have written everything before that cursor.
      if (error !== this.#pull.signal?.reason) addCursor(error, this.#cursor);
      throw error;
    } finally {
      this.#pending--;
    }
  }

  async return(): Promise<IteratorResult<Batch, undefined>> {
    if (!this.#ended) {
      this.#finish(new Stopped());
      try {
        await this.#inner?.return?.();
      } catch (error) {
        // A stage may end its wait by throwing the reason of its signal. That is not a failure.
        if (!(error instanceof Stopped) && error !== this.#pull.signal?.reason) throw error;
      }
    }
    return { done: true, value: undefined };
  }

  #start(): AsyncIterator<Batch> {
    const { signal } = this.#pull;
    if (signal !== undefined) {
      this.#unlink = onceAborted(signal, () => {
        this.#controller.abort(signal.reason);
        if (this.#pending === 0) this.#close(signal.reason);
      });
    }
    return this.#open({ ...this.#pull, signal: this.#controller.signal })[Symbol.asyncIterator]();
  }

  /**
   * Closes the source if the run is aborted while the reader is not waiting for a batch. The reader may never
   * ask for another batch, so nothing else would close the source.
   */
  #close(reason: unknown): void {
    this.#failure = { reason };
    this.#finish(reason);
    Promise.resolve(this.#inner?.return?.()).catch(() => {});
  }

  #afterEnd(): IteratorResult<Batch, undefined> {
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

/**
 * Returns the reason with which a stream is destroyed when the run has ended. This is the reason of an abort,
 * or the error of a later stage. Returns `undefined` if the run ended normally or the reader stopped early.
 */
export function stopReason(signal: AbortSignal): unknown {
  return signal.reason instanceof Stopped ? undefined : signal.reason;
}

/**
 * The reason with which a run's signal fires if the run ended without an abort or an error. The
 * reader of the run never receives this reason.
 */
class Stopped extends Error {
  constructor() {
    super('The run is over');
    this.name = 'Stopped';
  }
}

/**
 * Adds a cursor to an error that ends a flow, so that a new run can resume from it. Does nothing if the error
 * already has a cursor.
 *
 * @param delivered The last cursor that the flow has delivered.
 */
function addCursor(error: unknown, delivered: unknown): void {
  if (!(error instanceof MillraceError) || error.cursor !== undefined) return;
  const cursor = sourceCursor(delivered);
  if (cursor !== undefined) Object.assign(error, { cursor });
}

/**
 * Extracts the cursor of the source from a cursor that operators have wrapped. Returns `undefined`
 * for a cursor of `merge` or `concat`. These have no option `resume`, and the cursor of one source
 * is not enough to resume all.
 */
function sourceCursor(delivered: unknown): unknown {
  let cursor = delivered;
  while (isRecord(cursor) && 'inner' in cursor && !('concat' in cursor)) cursor = cursor.inner;
  return isRecord(cursor) && typeof cursor.source === 'string' ? cursor : undefined;
}

interface BatchRun<T> {
  readonly ended: boolean;
  next(): Promise<IteratorResult<{ readonly items: readonly T[] }, undefined>>;
  return(): Promise<unknown>;
}

/**
 * Reads a run one item at a time. Overlapping calls of `next` are answered in order. Calls `onEnd` once the
 * run has been read to its end, has failed or was closed.
 */
export class FlowItems<T> implements AsyncIterator<T, undefined> {
  readonly #run: BatchRun<T>;
  #items: readonly T[] = [];
  #index = 0;
  #pending = 0;
  #last: Promise<unknown> = Promise.resolve();

  readonly #onEnd: () => void;

  constructor(run: BatchRun<T>, onEnd: () => void) {
    this.#run = run;
    this.#onEnd = onEnd;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#pending === 0 && !this.#run.ended && this.#index < this.#items.length)
      return Promise.resolve({ done: false, value: this.#items[this.#index++] as T });
    this.#pending++;
    const result = this.#last.then(() => this.#take()).finally(() => this.#pending--);
    this.#last = result.catch(() => {});
    return result;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#items = [];
    try {
      await this.#run.return();
    } finally {
      this.#onEnd();
    }
    return { done: true, value: undefined };
  }

  async #take(): Promise<IteratorResult<T, undefined>> {
    // An abort ends the run even in the middle of a batch. The rest of the batch is then not delivered.
    while (this.#run.ended || this.#index >= this.#items.length) {
      const result = await this.#run.next().catch(error => {
        this.#onEnd();
        throw error;
      });
      if (result.done) {
        this.#onEnd();
        return result;
      }
      this.#items = result.value.items;
      this.#index = 0;
    }
    return { done: false, value: this.#items[this.#index++] as T };
  }
}
