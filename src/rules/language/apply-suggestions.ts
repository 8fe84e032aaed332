import { checkValue, required, special } from '../../base/check.js';
import type { Span } from '../tree.js';
import { RULE_TEXT } from './parse-rule.js';
import type { Problem, TextEdit } from './problem.js';

const PROBLEMS = required(
  special<readonly Problem[]>(
    'the problems whose suggestions to apply',
    'an array of `problems` that `rules.check` gave',
    value =>
      Array.isArray(value) && value.every(problem => typeof problem?.explanation === 'string'),
  ),
);

/**
 * Returns the rule with the suggestions of these problems applied, in order. A suggestion is skipped if its
 * edits overlap the edits of an earlier suggestion, or insert text directly beside them. To get a skipped
 * suggestion, check the resulting rule again. To choose suggestions, filter the problems: a suggestion with
 * `certain` keeps the meaning of the rule; any other suggestion is a guess.
 *
 * @throws OptionError For a rule that is not a string, and for `problems` that are not a list of problems.
 * @example
 * const text = 'country_code:us cat';
 * rules.applySuggestions(text, rules.check(text, { product: 'replay' }).problems) // 'place_country:us cat'
 */
export function applySuggestions(text: string, problems: readonly Problem[]): string {
  checkValue('rules.applySuggestions', 'rule', RULE_TEXT, text);
  checkValue('rules.applySuggestions', 'problems', PROBLEMS, problems);
  const taken: TextEdit[] = [];
  for (const { suggestion } of problems) {
    const edits = suggestion?.edits ?? [];
    if (!edits.some(edit => taken.some(other => spansOverlap(edit, other)))) taken.push(...edits);
  }
  let result = '';
  let at = 0;
  for (const { start, end, text: replacement } of taken.sort((a, b) => a.start - b.start)) {
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at);
}

/**
 * Returns whether two spans of a rule's text share a character or, if one of them is empty, touch. An empty
 * span stands for an insertion. For example, a `)` inserted directly after a group touches the group, and
 * would be wrong if another edit replaced the group.
 */
export function spansOverlap(a: Span, b: Span): boolean {
  const isInsertion = a.start === a.end || b.start === b.end;
  return isInsertion ? a.start <= b.end && b.start <= a.end : a.start < b.end && b.start < a.end;
}
