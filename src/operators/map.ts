import { refusePromise } from '../base/abortable.js';
import { checkValue, func, required } from '../base/check.js';
import { type Operator, perBatch } from '../flow/flow.js';

const TRANSFORM = required(func('what is made from each item'));
const NO_PROMISE =
  'must not return a promise: use `mapAsync`, which awaits several at a time and keeps their order';

/**
 * Maps each item with a function. For asynchronous functions, see `mapAsync`.
 *
 * @throws OptionError Immediately, if `transform` is not a function; from the flow, if it returns a promise.
 * @example
 * pipeline(search(account(), query), map(activity => activity.text), stdout());
 */
export function map<In, Out>(transform: (item: In) => Out): Operator<In, Out> {
  checkValue('map', 'transform', TRANSFORM, transform);
  const mapped = (item: In) => {
    const result = transform(item);
    refusePromise('map', 'transform', result, NO_PROMISE);
    return result;
  };
  return perBatch(items => items.map(mapped), { step: { step: 'map' } });
}
