import { type CheckOptions, checkRule } from './check-rule.js';
import { renderProblem } from './render-problem.js';

/**
 * All that makes a product refuse a rule, as people read it, with a caret and a suggestion. Empty
 * where the product accepts the rule; warnings are left out.
 */
export function ruleErrors(value: string, options: CheckOptions): string[] {
  return checkRule(value, options)
    .problems.filter(problem => problem.severity === 'error')
    .map(problem => renderProblem(value, problem));
}
