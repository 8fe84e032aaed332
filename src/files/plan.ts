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

export type PlanStage = (input: Batches<never>, run: Run) => Batches<unknown>;

/**
 * The source of a plan. Sources whose files the engine can read itself implement `FilesOfPlan`, which adds a
 * method that returns the files.
 */
export interface PlanSource {
  /** Delivers the items of a plan to a reader that is not a sink of this package. */
  items(plan: Plan, run: Run): Batches<never>;
}

export interface Decoding {
  /** The options of `gunzip`. Absent if the plan has no `gunzip`, so that files are not inflated. */
  readonly gunzip?: InflateLimits | undefined;
  readonly limits: CheckedLimits;
  readonly records: RecordKind;
}

/**
 * The posts that the branches of `tee` share. The plan before `tee` runs only once. Each branch then applies
 * its own steps.
 */
export interface SharedPosts {
  /** The engine that runs the plan before `tee`, if any. No other engine can write or encode its rows. */
  readonly engine: PostEngine | undefined;
  read(run: Run): AsyncIterable<EngineBatch>;
}

export interface PostEngine {
  readsFor(steps: Steps): boolean;
}

interface PlanParts {
  readonly source: PlanSource;
  /** Called when a run begins. Throws to refuse the run. */
  readonly check?: (() => void) | undefined;
  readonly shared?: SharedPosts | undefined;
  /** Whether `routeByTag` comes before the `tee` whose branches share the posts. */
  readonly isRouted?: boolean;
  /**
   * The stages of the plan so far that convert files to posts, in order: `gunzip`, `jsonLines` and
   * `activities`, or some of these.
   */
  readonly stages: readonly PlanStage[];
  readonly gunzip?: InflateLimits | undefined;
  readonly limits?: CheckedLimits | undefined;
  /** Decides which records are items, and creates the items. Set once the plan includes `activities`. */
  readonly records?: RecordKind | undefined;
  readonly steps: Steps;
}

/**
 * Lists the built-in stages of a flow that reads whole files. With this list, the engine can decode the files
 * in threads instead of running the stages one by one. Each method that adds a stage returns a new plan, or
 * `undefined` if the stage cannot be part of the plan.
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
   * Returns one plan for several sources. Returns `undefined` unless each source has a plan that does nothing
   * but convert files to posts, and all plans convert them in the same way.
   *
   * @param join Combines the sources, and thereby decides the order of the files.
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
    // Columns are read when a file is decoded, before any step runs. If an earlier step replaces items, a
    // column with `isFirst` would have the data of the replaced items.
    const isTooLate = steps.some(one => one.replaces) && columns.some(({ kind }) => kind.isFirst);
    // After `routeByTag`, the items are not posts, so a step that reads columns must fail. It is
    // not added to the plan, so that it throws the same error as in a flow without a plan.
    const isRefused = (columns.length > 0 && this.#isRouted) || isTooLate;
    if (!this.isComplete || step.isPlanned === false || isRefused) return undefined;
    if (shared !== undefined && step.replaces) return undefined;
    return new Plan({ ...this.#parts, steps: [...steps, step] });
  }

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

  /**
   * Whether the plan includes the stage `activities`. Without that stage, the engine cannot deliver posts.
   */
  get isComplete(): boolean {
    return this.#parts.records !== undefined;
  }

  get shared(): SharedPosts | undefined {
    return this.#parts.shared;
  }

  get steps(): Steps {
    return this.#parts.steps;
  }

  get decoding(): Decoding {
    const { gunzip, limits, records } = this.#parts;
    if (limits === undefined || records === undefined)
      throw new Error('Internal error: this input has no decoding. Please report it');
    return { gunzip, limits, records };
  }

  begin(): PlanSource {
    this.#parts.check?.();
    return this.#parts.source;
  }

  items(run: Run): Batches<never> {
    return this.#parts.source.items(this, run);
  }

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

function decodingOf({ gunzip, limits, records }: PlanParts) {
  return { gunzip, limits, records };
}

/**
 * Creates the flow of `gunzip`, `jsonLines` or `activities`, the stages that convert files to posts.
 *
 * @param extend Returns the input's `Plan` with the stage added, or `undefined` if the stage cannot
 *   be part of it. Called only if the input has a `Plan`.
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

export function sharedFlow(plan: Plan, shared: SharedPosts): Flow<unknown> {
  const own = plan.sharing(shared);
  return new OwnFlow(run => own.items(run), { plan: own });
}

export function stepOperator<In, Out>(step: Step): Operator<In, Out> {
  return input => {
    const open = (run: Run) =>
      throughSteps([step], run, at => batchesOf(input, at)) as Batches<Out>;
    const plan = Plan.in(input)?.with(step);
    return plannedFlow([input], plan, { open, identity: identityOf(input, step.identity) });
  };
}

/** How a flow runs if it has no plan. */
export interface Unplanned<T> {
  readonly open: (run: Run) => Batches<T>;
  readonly identity: FlowIdentity;
}

/**
 * Creates a flow. If the plan includes the stage `activities`, the engine runs the plan. Otherwise, or if
 * there is no plan, the flow calls `open`.
 */
export function plannedFlow<T>(
  inputs: readonly AsyncIterable<unknown>[],
  plan: Plan | undefined,
  { open, identity }: Unplanned<T>,
): Flow<T> {
  const byPlan = plan?.isComplete ? (run: Run) => plan.items(run) : open;
  return hold(new OwnFlow<T>(byPlan, { plan, identity }), inputs);
}
