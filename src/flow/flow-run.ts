import { addCursor } from './error-cursor.js';

/** What a run is opened with: the pull, with a signal that fires when the run ends. */
type Opened<P> = Omit<P, 'signal'> & { readonly signal: AbortSignal };

/**
 * One run of a flow. Its signal fires when the puller's does, and when the puller stops early. A
 * source that waits on the signal can then close immediately; the `return()` of a generator would queue
 * behind that wait.
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
  /** The last one that was delivered. */
  #cursor: unknown;
  /** An abort that the reader has not received yet. */
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
      // The reason of an abort is not an error of the source: a sink may not have written all that was delivered.
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
        // A stage may end its wait by throwing the reason of its signal, which is not a failure.
        if (!(error instanceof Stopped) && error !== this.#pull.signal?.reason) throw error;
      }
    }
    return { done: true, value: undefined };
  }

  #start(): AsyncIterator<Batch> {
    const { signal } = this.#pull;
    if (signal !== undefined) {
      const onAbort = () => {
        this.#controller.abort(signal.reason);
        if (this.#pending === 0) this.#close(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#unlink = () => signal.removeEventListener('abort', onAbort);
    }
    return this.#open({ ...this.#pull, signal: this.#controller.signal })[Symbol.asyncIterator]();
  }

  /** Closes the source between two pulls: nothing waits on the signal, and no pull may follow. */
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
 * The reason to destroy a stream with, once the run has ended: that of an abort, or the error of a later
 * stage; `undefined` where the reader stopped early.
 */
export function stopReason(signal: AbortSignal): unknown {
  return signal.reason instanceof Stopped ? undefined : signal.reason;
}

/** The reason of a run's signal once the run has ended. The reader of the run never receives it. */
class Stopped extends Error {
  constructor() {
    super('The run is over');
    this.name = 'Stopped';
  }
}
