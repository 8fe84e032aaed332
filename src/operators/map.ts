import { type Operator, perBatch } from '../flow/flow.js';

/**
 * Maps each item with a function. For asynchronous functions see `mapAsync`.
 *
 * @example
 * pipeline(search(account(), query), map(activity => activity.text), stdout());
 */
export function map<In, Out>(transform: (item: In) => Out): Operator<In, Out> {
  return perBatch(items => items.map(item => transform(item)), { step: { step: 'map' } });
}
