import { OptionError } from '../base/errors.js';
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
  rememberComposed,
} from '../flow/pipeline-arguments.js';
import type * as rows from '../flow/stage.js';
import { isStageStream } from '../flow/stream-stage.js';

type End<In, R> = FlowSink<In, R> | WritableSink<In>;

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
export function compose<A, B>(...stages: rows.OneStage<A, B>): Operator<A, B>;
export function compose<A, B, C>(...stages: rows.TwoStages<A, B, C>): Operator<A, C>;
export function compose<A, B, C, D>(...stages: rows.ThreeStages<A, B, C, D>): Operator<A, D>;
export function compose<A, B, C, D, E>(...stages: rows.FourStages<A, B, C, D, E>): Operator<A, E>;
export function compose<A, B, C, D, E, F>(
  ...stages: rows.FiveStages<A, B, C, D, E, F>
): Operator<A, F>;
export function compose<A, B, C, D, E, F, G>(
  ...stages: rows.SixStages<A, B, C, D, E, F, G>
): Operator<A, G>;
export function compose<A, B, C, D, E, F, G, H>(
  ...stages: rows.SevenStages<A, B, C, D, E, F, G, H>
): Operator<A, H>;
export function compose<A, B, C, D, E, F, G, H, I>(
  ...stages: rows.EightStages<A, B, C, D, E, F, G, H, I>
): Operator<A, I>;
export function compose<A, B, C, D, E, F, G, H, I, J>(
  ...stages: rows.NineStages<A, B, C, D, E, F, G, H, I, J>
): Operator<A, J>;
export function compose<A, B, R = void>(
  ...stages: [...rows.OneStage<A, B>, sink: End<B, R>]
): Sink<A, R>;
export function compose<A, B, C, R = void>(
  ...stages: [...rows.TwoStages<A, B, C>, sink: End<C, R>]
): Sink<A, R>;
export function compose<A, B, C, D, R = void>(
  ...stages: [...rows.ThreeStages<A, B, C, D>, sink: End<D, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, R = void>(
  ...stages: [...rows.FourStages<A, B, C, D, E>, sink: End<E, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, F, R = void>(
  ...stages: [...rows.FiveStages<A, B, C, D, E, F>, sink: End<F, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, R = void>(
  ...stages: [...rows.SixStages<A, B, C, D, E, F, G>, sink: End<G, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, R = void>(
  ...stages: [...rows.SevenStages<A, B, C, D, E, F, G, H>, sink: End<H, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, I, R = void>(
  ...stages: [...rows.EightStages<A, B, C, D, E, F, G, H, I>, sink: End<I, R>]
): Sink<A, R>;
export function compose<A, B, C, D, E, F, G, H, I, J, R = void>(
  ...stages: [...rows.NineStages<A, B, C, D, E, F, G, H, I, J>, sink: End<J, R>]
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
  const flow = new OwnFlow(run => batchesOf(input, run), { identity: identityOf(input) });
  return hold(flow, [input]);
}
