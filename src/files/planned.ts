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
import type { FileBytes } from '../json/json-record.js';
import { bytesOfFile, planItems } from './engine.js';
import type { FileSource } from './file-source.js';
import { Plan, type SharedPosts, type Stage } from './plan.js';
import { type Step, throughSteps } from './step.js';

/** A source of whole files. */
export function fileFlow(open: FileSource, identity: FlowIdentity): Flow<FileBytes> {
  return new OwnFlow(
    async function* (run) {
      for await (const file of open(run, undefined)) yield* bytesOfFile(file) as Batches<FileBytes>;
    },
    { plan: Plan.ofFiles(open), identity },
  );
}

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
  const before = Plan.of(input);
  const plan = before && extend(before, stage as Stage);
  const open = (run: Run) => stage(batchesOf(input, run), run);
  return plannedFlow([input], plan, { open, identity: identityOf(input) });
}

/**
 * Several sources as one flow.
 *
 * @param open Reads the sources where the engine cannot run a plan of them all.
 * @param join Says in which order the files of sources of whole files come.
 */
export function joinedFlow<T>(
  sources: readonly AsyncIterable<unknown>[],
  {
    join,
    ...unplanned
  }: Unplanned<T> & { readonly join: (open: readonly FileSource[]) => FileSource },
): Flow<T> {
  return plannedFlow(sources, Plan.joined(sources, join), unplanned);
}

/** A flow whose items several read from one run of its plan, as one of them reads it. */
export function sharedFlow(plan: Plan, shared: SharedPosts): Flow<unknown> {
  const own = plan.sharing(shared);
  return new OwnFlow(run => planItems(own, run), { plan: own });
}

/** An operator that takes part in plans, see `Step`. */
export function stepOperator<In, Out>(given: Step<In, Out>): Operator<In, Out> {
  const step = given as Step<never, unknown>;
  return input => {
    const open = (run: Run) =>
      throughSteps([step], run, at => batchesOf(input, at)) as Batches<Out>;
    const plan = Plan.of(input)?.with(step);
    return plannedFlow([input], plan, { open, identity: identityOf(input, step.identity) });
  };
}

/** A flow as it is where the engine cannot run a plan of it. */
interface Unplanned<T> {
  readonly open: (run: Run) => Batches<T>;
  readonly identity: FlowIdentity;
}

function plannedFlow<T>(
  inputs: readonly AsyncIterable<unknown>[],
  plan: Plan | undefined,
  { open, identity }: Unplanned<T>,
): Flow<T> {
  const byPlan = plan?.isComplete ? (run: Run) => planItems(plan, run) : open;
  return hold(new OwnFlow<T>(byPlan, { plan, identity }), inputs);
}
