import { type FlowIdentity, type OpenFlow, OwnFlow } from './flow.js';

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
