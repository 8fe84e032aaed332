import type { rules as language } from 'millrace';
import { ruleText } from '../rules/engines.js';
import { workload } from '../rules/workload.js';

const RULES = 250_000;
const TAGS = 10;
/** One in this many rules has a tag. */
const TAGGED = 10;

type Rule = Parameters<typeof language.compileAll>[0][number];

/** Returns many rules. Every process gets the same rules. */
export function manyRules(): Rule[] {
  const { rule } = workload(5_000);
  return Array.from({ length: RULES }, (_, number) => ({
    value: ruleText(rule()),
    id: String(number + 1),
    tag: number % TAGGED === 0 ? `customer-${(number / TAGGED) % TAGS}` : null,
  }));
}
