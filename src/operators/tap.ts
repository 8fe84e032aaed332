import { abortable } from '../base/abortable.js';
import { checkValue, func, required } from '../base/check.js';
import { type Operator, ownOperator } from '../flow/flow.js';

const LOOK = required(func('what is called with each item'));

/**
 * Calls a function with each item, then delivers the item unchanged. If the function returns a promise, the
 * flow waits for it. If the function throws or the promise rejects, the flow ends with that error.
 *
 * @throws OptionError Immediately, if `look` is not a function.
 * @example
 * pipeline(source, tap(activity => console.error(activity.id)), sink);
 */
export function tap<T>(look: (item: T) => unknown): Operator<T, T> {
  checkValue('tap', 'look', LOOK, look);
  return ownOperator(async function* (input, { signal }) {
    for await (const batch of input) {
      for (const item of batch.items) {
        const result = look(item);
        if (result !== undefined) await abortable(Promise.resolve(result), signal);
      }
      yield batch;
    }
  });
}
