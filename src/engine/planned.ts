import {
  type Batches,
  batchesOf,
  type Flow,
  type FlowIdentity,
  identityOf,
  type Operator,
  type Run,
} from '../flow/flow.js';
import { hold } from '../flow/held-streams.js';
import { PlannedFlow } from '../flow/planned-flow.js';
import { bytesOfFile, planItems } from './engine.js';
import type { FileSource } from './file-source.js';
import { Plan, type SharedPosts, type Stage } from './plan.js';
import { type Step, throughSteps } from './step.js';

/** A source of whole files. */
export function fileFlow(open: FileSource, identity: FlowIdentity): Flow<Uint8Array> {
  return new PlannedFlow(
    async function* (run) {
      for await (const file of open(run, undefined)) yield* bytesOfFile(file);
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
  return plannedFlow(input, plan, run => stage(batchesOf(input, run), run));
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
    open,
    join,
    identity,
  }: {
    readonly open: (run: Run) => Batches<T>;
    readonly join: (open: readonly FileSource[]) => FileSource;
    readonly identity: FlowIdentity;
  },
): Flow<T> {
  const plan = Plan.joined(sources, join);
  return hold(new PlannedFlow(opening(plan, open), { plan, identity }), sources);
}

/** A flow whose items several read from one run of its plan, as one of them reads it. */
export function sharedFlow(plan: Plan, shared: SharedPosts): Flow<unknown> {
  const own = plan.sharing(shared);
  return new PlannedFlow(run => planItems(own, run), { plan: own, identity: [] });
}

/** An operator that takes part in plans, see `Step`. */
export function stepOperator<In, Out>(given: Step<In, Out>): Operator<In, Out> {
  const step = given as Step<never, unknown>;
  return input => {
    const open = (run: Run) =>
      throughSteps([step], run, at => batchesOf(input, at)) as Batches<Out>;
    return plannedFlow(input, Plan.of(input)?.with(step), open, step);
  };
}

function plannedFlow<T>(
  input: AsyncIterable<unknown>,
  plan: Plan | undefined,
  open: (run: Run) => Batches<T>,
  { identity }: { readonly identity?: Step<never, unknown>['identity'] } = {},
): Flow<T> {
  const flow = new PlannedFlow(opening(plan, open), {
    plan,
    identity: identityOf(input, identity),
  });
  return hold(flow, [input]);
}

function opening<T>(plan: Plan | undefined, open: (run: Run) => Batches<T>) {
  return plan?.isComplete === true ? (run: Run): Batches<T> => planItems(plan, run) : open;
}
