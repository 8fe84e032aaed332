import {
  type Batches,
  batchesOf,
  type Flow,
  type FlowIdentity,
  identityOf,
  type Operator,
  OwnFlow,
  type Run,
} from '../flow/flow.js';
import { hold } from '../flow/held-streams.js';
import { Plan, type SharedPosts, type Stage } from './plan.js';
import { type Step, throughSteps } from './step.js';

/**
 * The output of a stage that turns files into posts, `gunzip`, `jsonLines` or `activities`.
 *
 * @param extend Adds the stage to the plan of its input, where it has one.
 */
export function stageFlow<In, Out>(
  input: AsyncIterable<In>,
  stage: (input: Batches<In>, run: Run) => Batches<Out>,
  extend: (plan: Plan, stage: Stage) => Plan | undefined,
): Flow<Out> {
  const before = Plan.in(input);
  const plan = before && extend(before, stage as Stage);
  const open = (run: Run) => stage(batchesOf(input, run), run);
  return plannedFlow([input], plan, { open, identity: identityOf(input) });
}

/** A flow whose items several read from one run of its plan, as one of them reads it. */
export function sharedFlow(plan: Plan, shared: SharedPosts): Flow<unknown> {
  const own = plan.sharing(shared);
  return new OwnFlow(run => own.items(run), { plan: own });
}

/** An operator that takes part in plans, see `Step`. */
export function stepOperator<In, Out>(step: Step): Operator<In, Out> {
  return input => {
    const open = (run: Run) =>
      throughSteps([step], run, at => batchesOf(input, at)) as Batches<Out>;
    const plan = Plan.in(input)?.with(step);
    return plannedFlow([input], plan, { open, identity: identityOf(input, step.identity) });
  };
}

/** A flow as it is if no plan of it can be run. */
export interface Unplanned<T> {
  readonly open: (run: Run) => Batches<T>;
  readonly identity: FlowIdentity;
}

/** A flow that is run by its plan, if it has one. */
export function plannedFlow<T>(
  inputs: readonly AsyncIterable<unknown>[],
  plan: Plan | undefined,
  { open, identity }: Unplanned<T>,
): Flow<T> {
  const byPlan = plan?.isComplete ? (run: Run) => plan.items(run) : open;
  return hold(new OwnFlow<T>(byPlan, { plan, identity }), inputs);
}
