import { type CheckOptions, checkRule } from './check-rule.js';
import { renderProblem } from './render-problem.js';

/** What is wrong with rules of which one is only its text, as a message goes on after their name. */
export function textRuleProblem(rules: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  const text = list.find(rule => typeof rule === 'string');
  if (text === undefined) return undefined;
  const short = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  const quoted = short.includes("'") ? JSON.stringify(short) : `'${short}'`;
  return `must be an array of objects: write { value: ${quoted} } in place of ${quoted}`;
}

/**
 * All errors for which a product refuses a rule, formatted for people, with carets and suggestions.
 * Empty if the product accepts the rule. Warnings are not included.
 */
export function ruleErrors(value: string, options: CheckOptions): string[] {
  return checkRule(value, options)
    .problems.filter(problem => problem.severity === 'error')
    .map(problem => renderProblem(value, problem));
}
