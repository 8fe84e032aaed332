import { OptionError } from '../errors.js';
import { batchesOf, Flow, identityOf, type Operator } from '../flow/flow.js';
import { InternalFlow, internalBatchesOf } from '../flow/internal-flow.js';
import { type Argument, applyStage, checkStage } from '../flow/pipeline-arguments.js';
import type { Stage } from '../flow/stage.js';

/**
 * Joins several operators into one: to name a part of a pipeline and use it again, or to put more than
 * nine operators into one `pipeline`. It takes what `pipeline` takes between source and sink, and
 * cursors and checkpoints work as if the operators were listed one by one.
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
export function compose(...operators: readonly unknown[]): Operator<unknown, unknown> {
  if (operators.length === 0)
    throw new OptionError('stage', '`compose` has no operator. Pass one or more');
  const stages = operators.map(
    (value, index): Argument => ({ value, position: index + 1, of: 'compose' }),
  );
  stages.forEach(checkStage);
  return input => {
    const output = stages.reduce<AsyncIterable<unknown>>(applyStage, input);
    if (output instanceof Flow) return output;
    return new InternalFlow(
      (run, releases) => (releases ? internalBatchesOf : batchesOf)(output, run),
      undefined,
      identityOf(output),
    );
  };
}
