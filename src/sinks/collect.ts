import { batchesOf, type Sink } from '../flow/flow.js';
import { detached } from '../post/detach-from-block.js';

/**
 * Collects all items in an array, and resolves to that array. Use it for tests and small results, because all
 * items stay in memory.
 *
 * @example
 * const buckets = await pipeline(counts(account(), { product: '30day', query: 'snow' }), collect());
 */
export function collect<T>(): Sink<T, T[]> {
  return async (input, run) => {
    const all: T[] = [];
    for await (const { items } of batchesOf(input, run))
      for (const item of detached(items)) all.push(item);
    return all;
  };
}
