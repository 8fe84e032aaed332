import { isDeepStrictEqual } from 'node:util';
import { hold } from '../flow/close-streams.js';
import {
  type Batches,
  batchesOf,
  type Flow,
  type FlowIdentity,
  type FlowPlan,
  identityOf,
  type Operator,
  OwnFlow,
  planOf,
  type Run,
} from '../flow/flow.js';
import type { InflateLimits } from '../gzip/compression.js';
import type { CheckedLimits } from '../json/records.js';
import type { RecordKind } from './file-records.js';
import type { EngineBatch } from './rows.js';
import { type Step, type Steps, throughSteps } from './step.js';

/** What a stage does with batches of items. */
export type PlanStage = (input: Batches<never>, run: Run) => Batches<unknown>;

/** Provides the files of a plan and runs the plan. An operator that extends the plan does not look into it. */
export interface PlanSource {
  /** The items of a plan, for a reader that is not a sink of this package. */
  items(plan: Plan, run: Run): Batches<never>;
}

/** How a file becomes records. */
export interface Decoding {
  /** The options of `gunzip`; absent where the file is not to be inflated. */
  readonly gunzip?: InflateLimits | undefined;
  /** The limits of `jsonLines`. */
  readonly limits: CheckedLimits;
  /** What the records are. */
  readonly records: RecordKind;
}

/** A plan that is run once for several readers. Each reader continues with its own steps. */
export interface SharedPosts {
  /** The engine that runs the plan, if one does: no other engine can write or encode its rows. */
  readonly engine: PostEngine | undefined;
  read(run: Run): AsyncIterable<EngineBatch>;
}

export interface PostEngine {
  /** Whether its rows have what these steps read. */
  readsFor(steps: Steps): boolean;
}

interface PlanParts {
  readonly source: PlanSource;
  /** Called when a run begins. */
  readonly check?: (() => void) | undefined;
  readonly shared?: SharedPosts | undefined;
  /** Whether its items are routed before they are shared. */
  readonly isRouted?: boolean;
  /** What inflates and cuts a file, and makes activities of its records: as far as the plan goes. */
  readonly stages: readonly PlanStage[];
  readonly gunzip?: InflateLimits | undefined;
  readonly limits?: CheckedLimits | undefined;
  /** What its records are: set from `activities` on. */
  readonly records?: RecordKind | undefined;
  readonly steps: Steps;
}

/**
 * The built-in stages of a flow, from a source of whole files on. A stage adds itself to the plan of its input; a
 * plan that has come to activities can be run by the engine, which calls `stages` only for files that it cannot
 * decode as a whole. A method returns `undefined` where the plan ends before that stage.
 */
export class Plan implements FlowPlan {
  readonly #parts: PlanParts;

  private constructor(parts: PlanParts) {
    this.#parts = parts;
  }

  static of(source: PlanSource): Plan {
    return new Plan({ source, stages: [], steps: [] });
  }

  /**
   * The plan of several sources together, where the files of all become posts in the same way.
   *
   * @param join Says in which order the files come.
   */
  static joined(
    sources: readonly AsyncIterable<unknown>[],
    join: (sources: readonly PlanSource[]) => PlanSource,
  ): Plan | undefined {
    const plans = sources.flatMap(source => Plan.in(source) ?? []);
    const parts = plans.map(plan => plan.#parts);
    const [first] = parts;
    if (first === undefined || parts.length < sources.length) return undefined;
    const isJoinable = parts.every(
      one =>
        one.steps.length === 0 &&
        one.shared === undefined &&
        one.check === undefined &&
        isDeepStrictEqual(decodingOf(one), decodingOf(first)),
    );
    return isJoinable
      ? new Plan({ ...first, source: join(parts.map(({ source }) => source)) })
      : undefined;
  }

  /** The plan of a flow, as far as it has one. */
  static in(input: AsyncIterable<unknown>): Plan | undefined {
    const plan = planOf(input);
    return plan instanceof Plan ? plan : undefined;
  }

  inflated(gunzip: InflateLimits, stage: PlanStage): Plan | undefined {
    const { gunzip: before, limits } = this.#parts;
    return before === undefined && limits === undefined
      ? this.#withStage(stage, { gunzip })
      : undefined;
  }

  cut(limits: CheckedLimits, stage: PlanStage): Plan | undefined {
    return this.#parts.limits === undefined ? this.#withStage(stage, { limits }) : undefined;
  }

  read(records: RecordKind, stage: PlanStage): Plan | undefined {
    const { limits, records: before } = this.#parts;
    return limits !== undefined && before === undefined
      ? this.#withStage(stage, { records })
      : undefined;
  }

  with(step: Step): Plan | undefined {
    const { steps, shared } = this.#parts;
    const { columns = [] } = step;
    // Columns are read where a file is decoded, before any step has replaced an item.
    const isTooLate = steps.some(one => one.replaces) && columns.some(({ kind }) => kind.isFirst);
    // The step itself refuses routed items, with the error of a flow without a plan.
    const isRefused = (columns.length > 0 && this.#isRouted) || isTooLate;
    if (!this.isComplete || step.isPlanned === false || isRefused) return undefined;
    if (shared !== undefined && step.replaces) return undefined;
    return new Plan({ ...this.#parts, steps: [...steps, step] });
  }

  /** The plan of a reader of these posts, which others read, too. */
  sharing(shared: SharedPosts): Plan {
    return new Plan({ ...this.#parts, shared, isRouted: this.#isRouted, steps: [] });
  }

  guarded(check: () => void): Plan {
    const before = this.#parts.check;
    return new Plan({
      ...this.#parts,
      check: () => {
        before?.();
        check();
      },
    });
  }

  get #isRouted(): boolean {
    const { steps, isRouted } = this.#parts;
    return isRouted === true || steps.some(({ routes }) => routes);
  }

  /** Whether its items are posts, which the engine can deliver. */
  get isComplete(): boolean {
    return this.#parts.records !== undefined;
  }

  /** The source of its posts, if branches of `tee` share them. */
  get shared(): SharedPosts | undefined {
    return this.#parts.shared;
  }

  get steps(): Steps {
    return this.#parts.steps;
  }

  /** How a whole file becomes records. */
  get decoding(): Decoding {
    const { gunzip, limits, records } = this.#parts;
    if (limits === undefined || records === undefined)
      throw new Error('A plan without records cannot run');
    return { gunzip, limits, records };
  }

  /** The files, when a run begins. */
  begin(): PlanSource {
    this.#parts.check?.();
    return this.#parts.source;
  }

  /** The items, for a reader that is not a sink of this package. */
  items(run: Run): Batches<never> {
    return this.#parts.source.items(this, run);
  }

  /** The posts of a file that cannot be decoded as a whole. */
  postsOf(file: Batches<Uint8Array>, run: Run): Batches<unknown> {
    return this.#parts.stages.reduce<Batches<unknown>>(
      (batches, stage) => stage(batches as Batches<never>, run),
      file,
    );
  }

  #withStage(stage: PlanStage, more: Partial<PlanParts>): Plan {
    return new Plan({ ...this.#parts, ...more, stages: [...this.#parts.stages, stage] });
  }
}

/** How files become posts, as far as the plan goes. */
function decodingOf({ gunzip, limits, records }: PlanParts) {
  return { gunzip, limits, records };
}

/**
 * The output of a stage that turns files into posts, `gunzip`, `jsonLines` or `activities`.
 *
 * @param extend Adds the stage to the plan of its input, where it has one.
 */
export function stageFlow<In, Out>(
  input: AsyncIterable<In>,
  stage: (input: Batches<In>, run: Run) => Batches<Out>,
  extend: (plan: Plan, stage: PlanStage) => Plan | undefined,
): Flow<Out> {
  const before = Plan.in(input);
  const plan = before && extend(before, stage as PlanStage);
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

/** How to run a flow if its plan cannot be run. */
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
