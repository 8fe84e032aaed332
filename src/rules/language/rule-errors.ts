import { type CheckOptions, checkRule } from './check-rule.js';
import { renderProblem } from './render-problem.js';

/**
 * All errors for which a product refuses a rule, formatted for people, with carets and suggestions.
 * Empty if the product accepts the rule. Warnings are not included.
 */
export function ruleErrors(value: string, options: CheckOptions): string[] {
  return checkRule(value, options)
    .problems.filter(problem => problem.severity === 'error')
    .map(problem => renderProblem(value, problem));
}
