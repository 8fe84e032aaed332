import { OptionError } from '../base/errors.js';
import { hold } from '../flow/close-streams.js';
import { countDelivered, deliverToSink } from '../flow/deliver-to-sink.js';
import type { SinkRun } from '../flow/flow.js';
import { type Argument, withInternals } from '../flow/internals.js';
import { applyStage, callLast, checkLast, checkStage, flowOf } from '../flow/pipeline-arguments.js';
import type { Composed, EitherArgument, OutputOf, StageArgument } from '../flow/stage.js';
import { isStageStream } from '../flow/stream-stage.js';

/**
 * Joins several operators into one operator, or operators and a sink into one sink. It accepts the same
 * stages as `pipeline`. Use it to name a part of a pipeline that you use several times, or for a branch of
 * `tee`. A `pipeline` takes at most nine operators, so also use it for longer pipelines. Cursors and
 * checkpoints work as if the operators were listed one by one.
 *
 * @throws OptionError If an argument cannot be an operator, or there are no arguments.
 * @example
 * const posts = compose(gunzip(), jsonLines(), activities(), dedupe());
 * await pipeline(localFiles('archive'), posts, files({ path: 'all.jsonl' }));
 */
export function compose<In, Z = never>(last: EitherArgument<In, Z>): Composed<In, Z>;
export function compose<In, A = never, Z = never>(
  a: StageArgument<In, A>,
  last: EitherArgument<OutputOf<A>, Z>,
): Composed<In, Z>;
export function compose<In, A = never, B = never, Z = never>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  last: EitherArgument<OutputOf<B>, Z>,
): Composed<In, Z>;
export function compose<In, A = never, B = never, C = never, Z = never>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  last: EitherArgument<OutputOf<C>, Z>,
): Composed<In, Z>;
export function compose<In, A = never, B = never, C = never, D = never, Z = never>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  last: EitherArgument<OutputOf<D>, Z>,
): Composed<In, Z>;
export function compose<In, A = never, B = never, C = never, D = never, E = never, Z = never>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  last: EitherArgument<OutputOf<E>, Z>,
): Composed<In, Z>;
export function compose<
  In,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  Z = never,
>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  last: EitherArgument<OutputOf<F>, Z>,
): Composed<In, Z>;
export function compose<
  In,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  Z = never,
>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  last: EitherArgument<OutputOf<G>, Z>,
): Composed<In, Z>;
export function compose<
  In,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  H = never,
  Z = never,
>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  h: StageArgument<OutputOf<G>, H>,
  last: EitherArgument<OutputOf<H>, Z>,
): Composed<In, Z>;
export function compose<
  In,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  H = never,
  I = never,
  Z = never,
>(
  a: StageArgument<In, A>,
  b: StageArgument<OutputOf<A>, B>,
  c: StageArgument<OutputOf<B>, C>,
  d: StageArgument<OutputOf<C>, D>,
  e: StageArgument<OutputOf<D>, E>,
  f: StageArgument<OutputOf<E>, F>,
  g: StageArgument<OutputOf<F>, G>,
  h: StageArgument<OutputOf<G>, H>,
  i: StageArgument<OutputOf<H>, I>,
  last: EitherArgument<OutputOf<I>, Z>,
): Composed<In, Z>;
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
  return hold(withInternals(joined, { composed: { stages, last } }), args);
}

function end(
  input: AsyncIterable<unknown>,
  last: Argument,
  run: SinkRun | undefined,
): AsyncIterable<unknown> | PromiseLike<unknown> {
  const { value } = last;
  if (isStageStream(value)) return applyStage(input, last);
  if (typeof value === 'function')
    return callLast(countDelivered(flowOf(input), last, run), last, run);
  const { signal = new AbortController().signal, progress } = run ?? {};
  return deliverToSink(flowOf(input), last, { signal, progress });
}
