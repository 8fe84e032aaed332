import {
  batchesOf,
  type Flow,
  type FlowIdentity,
  identityOf,
  type OpenFlow,
  OwnFlow,
} from './flow.js';
import type { Progress } from './progress.js';

/** How a flow is made of built-in stages. Only the engine looks into it. */
export interface FlowPlan {
  /** The same plan; `check` is called when a run of it begins, and may throw. */
  guarded(check: () => void): FlowPlan;
}

/** A flow that may have a plan: who knows the plan can get the same items in another way. */
export class PlannedFlow<T> extends OwnFlow<T> {
  readonly plan: FlowPlan | undefined;

  constructor(
    open: OpenFlow<T>,
    {
      plan,
      signal,
      identity,
    }: {
      readonly plan: FlowPlan | undefined;
      readonly signal?: AbortSignal | undefined;
      readonly identity: FlowIdentity;
    },
  ) {
    super(open, signal, identity);
    this.plan = plan;
  }
}

/** The plan of a flow; `undefined` for other iterables. */
export function planOf(input: AsyncIterable<unknown>): FlowPlan | undefined {
  return input instanceof PlannedFlow ? input.plan : undefined;
}

/** A flow that ends with a signal and counts in a progress, however a sink reads it. */
export function boundFlow<T>(
  input: AsyncIterable<T>,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: Progress | undefined },
): Flow<T> {
  return new PlannedFlow(
    run => batchesOf(input, { ...run, signal: AbortSignal.any([run.signal, signal]), progress }),
    // A sink that runs the plan itself gets the signal and the progress, too.
    { plan: planOf(input), signal, identity: identityOf(input) },
  );
}
