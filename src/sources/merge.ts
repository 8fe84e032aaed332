import { type Flow, identityOf } from '../flow/flow.js';
import { isIncremental } from '../flow/flow-identity.js';
import { mergeBatches } from '../flow/merge-batches.js';
import type { ItemOf, Source } from '../flow/stage.js';
import { joinSources } from './join-sources.js';

/**
 * Reads several sources at the same time, as one. Each source keeps its order, takes its turn when it has
 * something, and is read at most one batch ahead. The items may be of several types; what follows sees
 * any of them. It ends when all sources are complete; the first error closes all of them.
 *
 * Cursors of the sources are joined into one wherever all sources stand at a cursor. For that a source
 * whose items have no cursor yet goes first, until its next cursor: for at most 256 batches, and the
 * others wait for it 50 ms at most. Documents of bytes are never mixed: a source of bytes, such as
 * `localFiles`, goes on to the end of its file. To merge within files, merge activities.
 *
 * A resumed run goes on in each source, and does not open those that are complete. A checkpoint refuses
 * other sources or another order.
 *
 * @param sources Flows, or anything else that `for await` can read. Where one has no cursors, the result
 * has none until that one is complete.
 * @throws OptionError Immediately, when an argument is not a source, or there is none.
 * @example
 * const searches = ['rain', 'snow'].map(query => search(account(), { product: '30day', query }));
 * await pipeline(merge(...searches), dedupe(), files({ path: 'weather.jsonl', checkpoint: 'weather.json' }));
 */
export function merge<const Sources extends readonly Source<unknown>[]>(
  ...sources: Sources
): Flow<ItemOf<Sources[number]>> {
  const goesOn = sources.map(source => isIncremental(identityOf(source as AsyncIterable<unknown>)));
  return joinSources('merge', sources, (opened, run, end) =>
    mergeBatches(opened, run, end, goesOn),
  );
}
