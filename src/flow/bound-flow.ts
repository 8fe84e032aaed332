import { batchesOf, type Flow, identityOf } from './flow.js';
import { PlannedFlow, planOf } from './planned-flow.js';
import type { Progress } from './progress.js';

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
