import { HASH_START, hashText } from '../post/tokeniser.js';
import { NO_TERMS, type RuleOperator, specOf } from './operator.js';

/** `sample:`, a percentage of all posts. */
export const sample: RuleOperator<number> = {
  ...specOf('percent', 'a share of all posts, before the rest of the rule', { alone: 'no' }),
  test:
    percent =>
    ({ fields }) =>
      hundredthOf(fields.id) < percent,
  terms: () => NO_TERMS,
  frequency: word => word,
};

/** The hundredth of all posts, 0 to 99, to which a post belongs. Depends only on its id. */
function hundredthOf(id: string): number {
  let hash = hashText(HASH_START, id);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % 100;
}
