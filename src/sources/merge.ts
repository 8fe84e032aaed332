import { type Flow, identityOf } from '../flow/flow.js';
import { isIncremental } from '../flow/flow-identity.js';
import { mergeBatches } from '../flow/merge-batches.js';
import type { ItemOf, Source } from '../flow/stage.js';
import { joinSources } from './join-sources.js';

/**
 * Reads several sources concurrently, as one. Each source keeps its order, delivers items as soon as it has
 * them, and is read at most one batch ahead. The sources may have items of different types. The items of the
 * merged flow then have the union of these types. The flow ends when all sources are complete. The first
 * error closes all sources.
 *
 * The merged flow has a cursor whenever every source is at a cursor. To reach this state, a source that has
 * delivered items since its last cursor is preferred until it reaches its next cursor. A source is preferred
 * for at most 256 batches. The other sources wait at most 50 ms for each of its batches. Parts of byte
 * documents are never mixed. A source of bytes, such as `localFiles`, is read to the end of a file before
 * another source is read. To mix the posts of several files, merge flows of activities.
 *
 * A resumed run continues each source, and does not open sources that are complete. A checkpoint is refused
 * if the sources or their order have changed.
 *
 * @param sources Flows, or anything else that `for await` can read. If a source has no cursors, the merged
 * flow has none until that source is complete.
 * @throws OptionError Immediately, if an argument is not a source, or there are no arguments.
 * @example
 * const searches = ['rain', 'snow'].map(query => search(account(), { product: '30day', query }));
 * await pipeline(merge(...searches), dedupe(), files({ path: 'weather.jsonl', checkpoint: 'weather.json' }));
 */
export function merge<const Sources extends readonly Source<unknown>[]>(
  ...sources: Sources
): Flow<ItemOf<Sources[number]>> {
  const incremental = sources.map(source =>
    isIncremental(identityOf(source as AsyncIterable<unknown>)),
  );
  return joinSources('merge', sources, (opened, run, end) =>
    mergeBatches(opened, run, end, incremental),
  );
}
