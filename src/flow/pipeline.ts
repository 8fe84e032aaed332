import type { EventEmitter } from 'node:events';
import { type Duplex, Readable, Writable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import {
  batchesOf,
  type Flow,
  identityOf,
  type Operator,
  type Sink,
  type SinkRun,
} from './flow.js';
import { InternalFlow, internalBatchesOf } from './internal-flow.js';
import type { MinipassStream } from './minipass-streams.js';
import {
  type Argument,
  applyStage,
  callSink,
  type PipelineOptions,
  readArguments,
} from './pipeline-arguments.js';
import { Progress } from './progress.js';
import { showProgress } from './progress-display.js';
import { type StreamSink, writeToStream } from './write-to-stream.js';

/** A `Flow`, a Node `Readable`, a Minipass stream, an async generator: anything that `for await` can read. */
export type Source<T> = AsyncIterable<T>;

/**
 * An operator, a Node `Transform` or a Minipass stream. What a `Transform` puts out is what the next
 * stage takes.
 */
export type Stage<In, Out> = Operator<In, Out> | Duplex | MinipassStream<In, Out>;

/** A Node `Writable`, or another stream with `write`, `end` and events: of minipass, tar, fs-minipass. */
export type WritableSink<In> = Writable | StreamSink<In>;

/**
 * Joins a source, operators and a sink, runs them, and resolves to what the sink returns. The item
 * type flows through every stage. The first error of any stage rejects, after everything is closed;
 * an abort rejects with the signal's own reason. Streams of Node and of minipass can stand in any
 * place; a web stream as sink or stage needs `Writable.fromWeb` or `Duplex.fromWeb`.
 *
 * @throws OptionError when an argument does not fit its place; nothing has been read then.
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
export function pipeline<A, B, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  sink: Sink<B, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  sink: Sink<C, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  sink: Sink<D, R>,
  options?: PipelineOptions,
): Promise<R>;
export function pipeline<A, B, C, D, E, R>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  sink: Sink<E, R>,
  options?: PipelineOptions,
): Promise<R>;
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
// After those of a sink: `collect()` must not be tried as options before it is tried as a sink.
export function pipeline<A>(
  source: Source<A>,
  sink: WritableSink<A>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B>(
  source: Source<A>,
  ab: Stage<A, B>,
  sink: WritableSink<B>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  sink: WritableSink<C>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  sink: WritableSink<D>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  sink: WritableSink<E>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  sink: WritableSink<F>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  sink: WritableSink<G>,
  options?: PipelineOptions,
): Promise<void>;
export function pipeline<A, B, C, D, E, F, G, H>(
  source: Source<A>,
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  sink: WritableSink<H>,
  options?: PipelineOptions,
): Promise<void>;
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
  sink: WritableSink<I>,
  options?: PipelineOptions,
): Promise<void>;
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
  sink: WritableSink<J>,
  options?: PipelineOptions,
): Promise<void>;
export async function pipeline(...args: unknown[]): Promise<unknown> {
  const { source, stages, sink, options } = readArguments(args);
  const { signal } = options;
  signal?.throwIfAborted();

  // A sink among the stages, or something that is not a stage, must not have read anything.
  let checked = false;
  const gated = new InternalFlow(
    (run, releases) => {
      if (!checked) throw new Error('The arguments of the pipeline are not checked yet');
      return (releases ? internalBatchesOf : batchesOf)(source, run);
    },
    undefined,
    identityOf(source),
  );
  const last = stages.reduce<AsyncIterable<unknown>>(applyStage, gated);
  checked = true;

  const progress = new Progress();
  const display = showProgress(progress, options.progress ?? 'off');
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    // A sink need not look at signals: what it reads ends with the pipeline's.
    const bound = new InternalFlow(
      (run, releases) =>
        (releases ? internalBatchesOf : batchesOf)(last, {
          ...run,
          signal: AbortSignal.any([run.signal, controller.signal]),
          progress,
        }),
      controller.signal,
      identityOf(last),
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

async function drain(
  input: Flow<unknown>,
  sink: Argument,
  run: SinkRun & { readonly signal: AbortSignal },
): Promise<unknown> {
  const { value } = sink;
  if (typeof value === 'function') return callSink(sink, input, run);
  if (value instanceof Writable)
    await nodePipeline(Readable.from(input), value, { signal: run.signal });
  else await writeToStream(input, value as StreamSink<unknown> & EventEmitter, run);
  return undefined;
}
