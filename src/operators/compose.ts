import { OptionError } from '../errors.js';
import { rememberComposed } from '../flow/composed.js';
import { drain } from '../flow/drain.js';
import {
  batchesOf,
  Flow,
  type FlowSink,
  identityOf,
  type Operator,
  OwnFlow,
  type Sink,
  type SinkRun,
} from '../flow/flow.js';
import { hold } from '../flow/held-streams.js';
import type { WritableSink } from '../flow/pipeline.js';
import {
  type Argument,
  applyStage,
  callLast,
  checkLast,
  checkStage,
} from '../flow/pipeline-arguments.js';
import type { Stage } from '../flow/stage.js';
import { isStageStream } from '../flow/stream-stage.js';

/**
 * Joins several operators into one, or operators and a sink into a sink: to reuse a part of a pipeline
 * under a name, for a branch of `tee`, or for more than nine operators in one `pipeline`. It takes what
 * `pipeline` takes between source and sink, and cursors and checkpoints work as if the operators were
 * listed one by one.
 *
 * @throws OptionError When an argument cannot be an operator, or there is none.
 * @example
 * const posts = compose(gunzip(), jsonLines(), activities(), dedupe());
 * await pipeline(localFiles('archive'), posts, files({ path: 'all.jsonl' }));
 */
export function compose<A, B>(ab: Stage<A, B>): Operator<A, B>;
export function compose<A, B, C>(ab: Stage<A, B>, bc: Stage<B, C>): Operator<A, C>;
export function compose<A, B, C, D>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
): Operator<A, D>;
export function compose<A, B, C, D, E>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
): Operator<A, E>;
export function compose<A, B, C, D, E, F>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
): Operator<A, F>;
export function compose<A, B, C, D, E, F, G>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
): Operator<A, G>;
export function compose<A, B, C, D, E, F, G, H>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
): Operator<A, H>;
export function compose<A, B, C, D, E, F, G, H, I>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
): Operator<A, I>;
export function compose<A, B, C, D, E, F, G, H, I, J>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  ij: Stage<I, J>,
): Operator<A, J>;
export function compose<A, B, R = void>(
  ab: Stage<A, B>,
  sink: FlowSink<B, R> | WritableSink<B>,
): Sink<A, R>;
export function compose<A, B, C, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  sink: FlowSink<C, R> | WritableSink<C>,
): Sink<A, R>;
export function compose<A, B, C, D, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  sink: FlowSink<D, R> | WritableSink<D>,
): Sink<A, R>;
export function compose<A, B, C, D, E, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  sink: FlowSink<E, R> | WritableSink<E>,
): Sink<A, R>;
export function compose<A, B, C, D, E, F, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  sink: FlowSink<F, R> | WritableSink<F>,
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  sink: FlowSink<G, R> | WritableSink<G>,
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  sink: FlowSink<H, R> | WritableSink<H>,
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, I, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  sink: FlowSink<I, R> | WritableSink<I>,
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, I, J, R = void>(
  ab: Stage<A, B>,
  bc: Stage<B, C>,
  cd: Stage<C, D>,
  de: Stage<D, E>,
  ef: Stage<E, F>,
  fg: Stage<F, G>,
  gh: Stage<G, H>,
  hi: Stage<H, I>,
  ij: Stage<I, J>,
  sink: FlowSink<J, R> | WritableSink<J>,
): Sink<A, R>;
export function compose(...args: readonly unknown[]): unknown {
  const stages = args.map(
    (value, index): Argument => ({ value, position: index + 1, of: 'compose' }),
  );
  const last = stages.pop();
  if (last === undefined)
    throw new OptionError('stage', '`compose` has no operator. Pass one or more');
  stages.forEach(checkStage);
  checkLast(last);
  const joined = (input: AsyncIterable<unknown>, run?: SinkRun) => {
    const output = stages.reduce<AsyncIterable<unknown>>(applyStage, input);
    const result = end(output, last, run);
    return 'then' in result ? result : flowOf(result);
  };
  rememberComposed(joined, { stages, last });
  return hold(joined, args);
}

function end(
  input: AsyncIterable<unknown>,
  last: Argument,
  run: SinkRun | undefined,
): AsyncIterable<unknown> | PromiseLike<unknown> {
  const { value } = last;
  if (isStageStream(value)) return applyStage(input, last);
  if (typeof value === 'function') return callLast(flowOf(input), last, run);
  const { signal = new AbortController().signal, progress } = run ?? {};
  return drain(flowOf(input), last, { signal, progress });
}

function flowOf(input: AsyncIterable<unknown>): Flow<unknown> {
  if (input instanceof Flow) return input;
  const flow = new OwnFlow(run => batchesOf(input, run), undefined, identityOf(input));
  return hold(flow, [input]);
}
