import { type Flow, identityOf } from './flow.js';
import { InternalFlow, internalBatchesOf } from './internal-flow.js';
import type { Progress } from './progress.js';

/** A flow that ends with a signal and counts in a progress, however a sink reads it. */
export function boundFlow<T>(
  input: AsyncIterable<T>,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: Progress | undefined },
): Flow<T> {
  return new InternalFlow(
    (run, reader) =>
      internalBatchesOf(
        input,
        { ...run, signal: AbortSignal.any([run.signal, signal]), progress },
        reader,
      ),
    signal,
    identityOf(input),
  );
}
