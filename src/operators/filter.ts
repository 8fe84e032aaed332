import { checkOptions, type OptionTable, text } from '../check.js';
import { type Operator, perBatch } from '../flow/flow.js';

/** The name under which `filter` counts the items that it drops. */
export interface FilterOptions {
  /**
   * The name under which progress counts dropped items.
   * @default 'filter'
   */
  readonly name?: string | undefined;
}

const OPTIONS = {
  name: text('how progress counts what is left out', 'filter'),
} satisfies OptionTable<FilterOptions>;

/**
 * Passes only the items for which `test` returns true. A type predicate narrows the item type.
 *
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
  const { name } = checkOptions('filter', OPTIONS, options);
  return perBatch(items => items.filter(item => test(item)), { name, step: { step: 'filter' } });
}
