import { Duplex, Readable, Writable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import { batchesOf, Flow, type Operator, type Sink, type SinkRun } from './flow.js';
import { through } from './operators/through.js';
import { Progress } from './progress.js';
import { type ProgressDisplay, showProgress } from './progress-display.js';

/** A `Flow`, a Node `Readable`, a generator: whatever `for await` can read. */
export type Source<T> = AsyncIterable<T>;

/** An operator, or a Node `Transform`. What a `Transform` puts out is what the next stage takes. */
export type Stage<In, Out> = Operator<In, Out> | Duplex;

export interface PipelineOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * How to show what the run has done: a bar on a terminal and a line every few seconds elsewhere
   * (`auto`), one of the two, a function that is called with the counts, or nothing. Never on stdout.
   * @default 'off'
   */
  readonly progress?: ProgressDisplay | undefined;
}

/**
 * Joins a source, operators and a sink, runs them, and resolves to what the sink returns. The item
 * type flows through every stage. The first error of any stage rejects, after everything is closed;
 * an abort rejects with the signal's own reason.
 *
 * @example
 * const { posts } = await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   files({ path: 'out/{day}.jsonl' }),
 * );
 */
export function pipeline<A, R>(
  source: Source<A>,
  sink: Sink<A, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A>(
  source: Source<A>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  sink: Sink<B, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B>(
  source: Source<A>,
  ab: Stage<A, B>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  sink: Sink<C, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  sink: Sink<D, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  sink: Sink<E, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  sink: Sink<F, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, F>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  sink: Sink<G, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, F, G>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G, H, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  sink: Sink<H, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, F, G, H>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G, H, I, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  sink: Sink<I, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, F, G, H, I>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G, H, I, J, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  ij: Stage<I, J>,
  sink: Sink<J, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, F, G, H, I, J>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  ij: Stage<I, J>,
  sink: Writable,
  options?: PipelineOptions,
): Promise<void>;
export async function pipeline(...args: unknown[]): Promise<unknown> {
  const options = isOptions(args.at(-1)) ? (args.pop() as PipelineOptions) : {};
  const [source, ...stages] = args;
  const sink = stages.pop();
  if (!isAsyncIterable(source))
    throw new TypeError('The first stage of a pipeline must be a source');
  if (!isSink(sink)) throw new TypeError('The last stage of a pipeline must be a sink');

  const controller = new AbortController();
  const { signal } = options;
  signal?.throwIfAborted();
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const progress = new Progress();
  const display = showProgress(progress, options.progress ?? 'off');
  try {
    const last = stages.reduce<AsyncIterable<unknown>>(applyStage, source);
    // A sink need not look at signals: what it reads ends with the pipeline's.
    const bound = new Flow(
      (run, borrows) =>
        batchesOf(last, {
          ...run,
          borrows,
          signal: AbortSignal.any([run.signal, controller.signal]),
          progress,
        }),
      controller.signal,
    );
    const result = await drain(bound, sink, { signal: controller.signal, progress });
    display.finish();
    return result;
  } catch (error) {
    display.fail();
    if (signal?.aborted) throw signal.reason;
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    controller.abort();
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function isSink(value: unknown): value is Sink<unknown, unknown> | Writable {
  return typeof value === 'function' || value instanceof Writable;
}

function isOptions(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !isSink(value) && !isAsyncIterable(value);
}

function applyStage(input: AsyncIterable<unknown>, stage: unknown): AsyncIterable<unknown> {
  if (stage instanceof Duplex) return through<unknown, unknown>(stage)(input);
  if (typeof stage === 'function') return (stage as Operator<unknown, unknown>)(input);
  throw new TypeError(
    'Every stage between source and sink must be an operator or a Node Transform',
  );
}

async function drain(
  input: Flow<unknown>,
  sink: Sink<unknown, unknown> | Writable,
  run: SinkRun & { readonly signal: AbortSignal },
): Promise<unknown> {
  if (typeof sink === 'function') return sink(input, run);
  await nodePipeline(Readable.from(input), sink, { signal: run.signal });
  return undefined;
}
