import { OptionError } from '../errors.js';
import type { NewRule } from './rule-calls.js';

/** @throws OptionError unless each is a rule that can be sent. */
export function checkRules(rules: readonly NewRule[]): readonly NewRule[] {
  if (!Array.isArray(rules)) throw notRules();
  for (const rule of rules as readonly unknown[]) {
    if (!isObject(rule)) throw notRules();
    const { value, tag = null } = rule;
    checkValue(value);
    if (tag !== null && typeof tag !== 'string')
      throw new OptionError('rules', 'Expected the `tag` of a rule to be a string or null');
  }
  return rules;
}

/** By value or by id. @throws OptionError unless each names a rule in one of these ways. */
export function checkRulesToDelete(
  rules: readonly unknown[],
): readonly ({ readonly value: string } | { readonly id: string })[] {
  if (!Array.isArray(rules)) throw notRules();
  return rules.map((rule: unknown) => {
    if (!isObject(rule)) throw notRules();
    return 'value' in rule ? { value: checkValue(rule.value) } : { id: checkRuleId(rule.id) };
  });
}

function isObject(rule: unknown): rule is { readonly [key: string]: unknown } {
  return typeof rule === 'object' && rule !== null;
}

function notRules(): OptionError {
  return new OptionError('rules', 'Expected `rules` to be a list of { value, tag }');
}

function checkValue(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw new OptionError('rules', 'Expected the `value` of a rule to be a string, not empty');
  return value;
}

/** @throws OptionError unless it is an id as the service writes them. */
export function checkRuleId(id: unknown): string {
  // As bare integers they go into JSON, which knows no leading zeros.
  if (typeof id !== 'string' || !/^(0|[1-9]\d{0,19})$/.test(id))
    throw new OptionError(
      'ids',
      `Expected the id of a rule to be a string of digits, got ${typeof id === 'string' ? JSON.stringify(id) : typeof id}`,
    );
  return id;
}
