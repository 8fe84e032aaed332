import type { RuleProduct } from '../post/dialect.js';
import { checkRule } from './check-rule.js';
import { renderProblem } from './render-problem.js';

/** The maximum number of rules whose warnings one call reports. */
const MAX_REPORTED = 5;
/**
 * Rules that were already reported or have no warnings. A program that uses a rule again is not warned again.
 */
const known = new Set<string>();
/**
 * The maximum number of rules to check and remember. Without this limit, checking could block the event loop
 * for more than half a second.
 */
const MAX_RULES = 10_000;

/**
 * Emits a process warning about rules that the service accepts but that may not mean what they seem to mean.
 * Called before a request that may cost money. Rules with errors are not reported here, because either the
 * service or an earlier check refuses them.
 *
 * @param derived Rules that were made from `rules`. Their warnings would be the same, so they are not
 *   reported.
 */
export function warnOfRules(
  call: string,
  product: RuleProduct,
  rules: readonly string[],
  derived: readonly string[] = [],
): void {
  const reported: string[] = [];
  for (const rule of rules.slice(0, MAX_RULES)) {
    if (known.has(rule)) continue;
    const { tree, problems } = checkRule(rule, { product });
    const warnings = tree === undefined ? [] : problems;
    if (warnings.length > 0 && reported.length === MAX_REPORTED) {
      reported.push('More rules have warnings: `rules.check` gives those of each rule.');
      break;
    }
    if (warnings.length > 0)
      reported.push(warnings.map(warning => renderProblem(rule, warning)).join('\n'));
  }
  if (known.size + rules.length + derived.length > MAX_RULES) known.clear();
  for (const rule of [...rules, ...derived].slice(0, MAX_RULES)) known.add(rule);
  if (reported.length === 0) return;
  process.emitWarning(
    `${call}: the service accepts this, but it may not mean what it seems to.\n${reported.join('\n')}`,
    'RuleWarning',
  );
}
