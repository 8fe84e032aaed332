import { abortable } from '../base/abortable.js';
import { checkValue, func, required } from '../base/check.js';
import { type Operator, ownOperator } from '../flow/flow.js';

const LOOK = required(func('what is called with each item'));

/**
 * Calls a function with each item, and passes the items on. A promise that it returns is awaited; what it
 * throws, or its promise rejects with, ends the flow.
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
