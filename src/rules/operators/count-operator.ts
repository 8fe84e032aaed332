import type { AuthorFields } from '../../activity/post-fields.js';
import type { CountRange } from '../tree.js';
import { NO_TERMS, type RuleOperator, specOf } from './operator.js';

/** An operator that tests one of the author's counts. */
export function countOperator(
  about: string,
  count: (author: AuthorFields) => number | undefined,
  aliases: readonly string[] = [],
): RuleOperator<CountRange> {
  return {
    ...specOf('count', about, { aliases }),
    test:
      ({ min, max = Number.POSITIVE_INFINITY }) =>
      ({ fields }) => {
        const found = count(fields.author) ?? 0;
        return found >= min && found <= max;
      },
    terms: () => NO_TERMS,
    frequency: word => word,
  };
}
