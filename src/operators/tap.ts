import { type Operator, perBatch } from '../flow/flow.js';

/**
 * Calls a function with each item, and passes the item on.
 *
 * @example
 * pipeline(source, tap(activity => console.error(activity.id)), sink);
 */
export function tap<T>(look: (item: T) => void): Operator<T, T> {
  return perBatch(items => {
    for (const item of items) look(item);
    return items;
  });
}
