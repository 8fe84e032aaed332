import { abortable, answerOf, LinkedAbort } from '../base/abortable.js';
import { isWatched, publish } from '../base/diagnostics.js';
import { closeHeld, guardAll } from './close-streams.js';
import { deliverToSink } from './deliver-to-sink.js';
import { type Batches, batchesOf, boundFlow, identityOf, OwnFlow, planOf } from './flow.js';
import { applyStage, type PipelineArguments, readArguments } from './pipeline-arguments.js';
import { Progress, type RunMessage, summaryOf } from './progress.js';
import { showProgress } from './progress-display.js';
import type {
  EitherArgument,
  ItemOf,
  LastArgument,
  OutputOf,
  ResultOf,
  SinkArgument,
  SinkResult,
  SourceArgument,
  StageArgument,
} from './stage.js';

/**
 * Joins a source, operators and a sink, runs them, and resolves to the result of the sink. The item type is
 * inferred through every stage. Each argument may also be a stream of Node, of the web or of minipass. There
 * may be up to nine operators. `compose` joins several operators into one.
 *
 * If a stage fails, all stages are closed and the pipeline rejects with the first error. After an abort, it
 * rejects with the reason of the signal. It waits at most 250 ms for functions, flows and sinks of the caller
 * that ignore the signal. When the run ends for any reason, it closes all streams and generators that were
 * not read to their end, even if they were never opened.
 *
 * @param source A `Flow`, or anything else that `for await` can read.
 * @param sink A sink, or a stream to write to. If it is a stream, the pipeline resolves to `undefined` once
 *   the stream has finished. Operators come before the sink. Options may follow it: for example, `signal`
 *   ends the run, and `progress` selects how progress is shown.
 * @throws OptionError before anything is read, if an argument does not fit its position, and during the run,
 *   if a stream or generator was used before.
 * @example
 * const { posts } = await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   files({ path: 'out/{day}.jsonl' }),
 * );
 */
export function pipeline<From, Z = never>(
  source: SourceArgument<From>,
  sink: SinkArgument<ItemOf<From>, Z>,
): Promise<SinkResult<Z>>;
export function pipeline<From, Y = never, Z = never>(
  source: SourceArgument<From>,
  beforeLast: EitherArgument<ItemOf<From>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<From, A = never, Y = never, Z = never>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  beforeLast: EitherArgument<OutputOf<A>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<From, A = never, B = never, Y = never, Z = never>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  beforeLast: EitherArgument<OutputOf<B>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<From, A = never, B = never, C = never, Y = never, Z = never>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  beforeLast: EitherArgument<OutputOf<C>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<From, A = never, B = never, C = never, D = never, Y = never, Z = never>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  beforeLast: EitherArgument<OutputOf<D>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<
  From,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  Y = never,
  Z = never,
>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  beforeLast: EitherArgument<OutputOf<E>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<
  From,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  Y = never,
  Z = never,
>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  beforeLast: EitherArgument<OutputOf<F>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<
  From,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  Y = never,
  Z = never,
>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  beforeLast: EitherArgument<OutputOf<G>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<
  From,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  H = never,
  Y = never,
  Z = never,
>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  h: StageArgument<OutputOf<G>, H>,
  beforeLast: EitherArgument<OutputOf<H>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export function pipeline<
  From,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  H = never,
  I = never,
  Y = never,
  Z = never,
>(
  source: SourceArgument<From>,
  a: StageArgument<ItemOf<From>, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  h: StageArgument<OutputOf<G>, H>,
  i: StageArgument<OutputOf<H>, I>,
  beforeLast: EitherArgument<OutputOf<I>, Y>,
  last: LastArgument<Y, Z>,
): Promise<ResultOf<Y, Z>>;
export async function pipeline(...args: unknown[]): Promise<unknown> {
  // From here on, if a stream fails before it is used, the failure does not end the process.
  guardAll(args);
  try {
    const parsed = readArguments(args);
    const result = await run(parsed);
    for (const part of [parsed.source, ...parsed.stages.map(({ value }) => value)]) closeHeld(part);
    return result;
  } catch (error) {
    for (const part of args) closeHeld(part, error);
    throw error;
  }
}

async function run({ source, stages, sink, options }: PipelineArguments): Promise<unknown> {
  const { signal } = options;
  signal?.throwIfAborted();

  // Nothing may be read until all stages have been checked. A stage may try to read its input when it is
  // applied, for example if the caller passed a sink as a stage.
  let checked = false;
  const check = () => {
    if (!checked) throw new Error('The arguments of the pipeline are not checked yet');
  };
  const gated = new OwnFlow(
    run => {
      check();
      const batches = batchesOf(source, run);
      return isWatched('batch') ? watchedBatches(batches) : batches;
    },
    { plan: planOf(source)?.guarded(check), identity: identityOf(source) },
  );
  const last = stages.reduce<AsyncIterable<unknown>>(applyStage, gated);
  checked = true;

  const progress = new Progress();
  const startedAt = performance.now();
  const message: RunMessage = {};
  publish('runStart', () => message);
  let isSummarized = false;
  const summarize = async (end: { readonly result: unknown } | { readonly error: unknown }) => {
    isSummarized = true;
    const summary = summaryOf(progress, startedAt, end);
    publish('result' in end ? 'runEnd' : 'runError', () => Object.assign(message, summary));
    await answerOf(options.onSummary?.(summary), controller.signal);
  };
  const controller = new LinkedAbort(signal);
  const abort = (error: unknown) => controller.abort(error);
  const display = showProgress(progress, options.progress ?? 'off', { abort });
  try {
    // Even if the sink ignores the signal, its input ends when the pipeline's signal fires.
    const run = { signal: controller.signal, progress };
    const result = await deliverToSink(boundFlow(last, run), sink, run);
    // If a progress function never returns, it must not delay an abort.
    await abortable(Promise.resolve(display.finish()), controller.signal);
    await summarize({ result });
    return result;
  } catch (error) {
    display.fail(signal?.aborted ? 'interrupted' : 'failed');
    const failure = signal?.aborted ? signal.reason : error;
    // The error of the run matters more than an error of the `onSummary` callback.
    if (!isSummarized) await summarize({ error: failure }).catch(() => {});
    throw failure;
  } finally {
    controller.unlink();
    controller.abort();
  }
}

async function* watchedBatches<T>(batches: Batches<T>): Batches<T> {
  for await (const batch of batches) {
    publish('batch', () => ({ items: batch.items.length, hasCursor: batch.cursor !== undefined }));
    yield batch;
  }
}
