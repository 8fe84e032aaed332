import { abortable } from '../abortable.js';
import { failureOf, refuseClosed } from './held-streams.js';
import { isMinipass, minipassBatches } from './minipass-streams.js';
import type { Progress } from './progress.js';
import { isWebReadable, webBatches } from './web-streams.js';

interface Run {
  readonly signal: AbortSignal;
  readonly progress?: Progress | undefined;
}

/**
 * Batches of one item from an iterable that is not a `Flow`. It may ignore the signal, so an abort ends
 * the run immediately, without waiting for the iterable to return.
 */
export function iterableBatches<T>(
  input: AsyncIterable<T>,
  run: Run,
): AsyncGenerator<{ readonly items: readonly T[] }, void, undefined> {
  refuseClosed(input);
  const failure = failureOf(input);
  if (failure !== undefined) throw failure.error;
  if (isMinipass(input)) return minipassBatches(input, run) as never;
  return isWebReadable(input) ? (webBatches(input, run) as never) : batchesOfOne(input, run);
}

async function* batchesOfOne<T>(
  input: AsyncIterable<T>,
  { signal, progress }: Run,
): AsyncGenerator<{ readonly items: readonly T[] }, void, undefined> {
  const iterator = input[Symbol.asyncIterator]();
  let finished = false;
  try {
    while (true) {
      const result = await abortable(iterator.next(), signal);
      if (result.done) {
        finished = true;
        return;
      }
      if (progress !== undefined) progress.received++;
      yield { items: [result.value] };
    }
  } finally {
    if (!finished) leave(input, iterator);
  }
}

function leave<T>(input: AsyncIterable<T>, iterator: AsyncIterator<T>): void {
  if ('destroy' in input && typeof input.destroy === 'function') input.destroy();
  else Promise.resolve(iterator.return?.()).catch(() => {});
}
