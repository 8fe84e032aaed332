import { refusePromise } from '../base/abortable.js';
import { checkOptions, checkValue, func, type OptionTable, required, text } from '../base/check.js';
import { type Operator, perBatch } from '../flow/flow.js';

/** Options of `filter`: the name under which progress counts dropped items. */
export interface FilterOptions {
  /**
   * The name under which progress counts dropped items.
   * @default 'filter'
   */
  readonly name?: string | undefined;
}

const OPTIONS = {
  name: text('how progress counts dropped items', 'filter'),
} satisfies OptionTable<FilterOptions>;
const TEST = required(func('which items pass'));

/**
 * Passes only the items for which `test` returns true. A type predicate narrows the item type.
 *
 * @throws OptionError If `test` is not a function. The flow throws it if `test` returns a promise. For an
 *   asynchronous test, get the answers with `mapAsync` first.
 * @example
 * pipeline(source, filter(activity => activity.lang === 'en', { name: 'not English' }), sink);
 */
export function filter<In, Out extends In>(
  test: (item: In) => item is Out,
  options?: FilterOptions,
): Operator<In, Out>;
export function filter<In>(test: (item: In) => boolean, options?: FilterOptions): Operator<In, In>;
export function filter<In>(
  test: (item: In) => boolean,
  options: FilterOptions = {},
): Operator<In, In> {
  checkValue('filter', 'test', TEST, test);
  const { name } = checkOptions('filter', OPTIONS, options);
  const passing = (items: readonly In[]) =>
    items.filter(item => {
      const answer = test(item);
      return answer === true || (answer !== false && isTruthy(answer));
    });
  return perBatch(passing, { name, step: { step: 'filter' } });
}

/**
 * Converts the result of a test to a boolean, because callers without types may return other values. Throws
 * for a promise, because a promise is truthy and would let every item pass.
 */
function isTruthy(answer: unknown): boolean {
  refusePromise(
    'filter',
    'test',
    answer,
    'must return true or false, got a promise: get its answer with `mapAsync`, then filter by it',
  );
  return Boolean(answer);
}
