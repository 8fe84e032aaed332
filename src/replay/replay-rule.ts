import { optionError } from '../check.js';
import type { Fields } from '../http/read-fields.js';
import { textRuleProblem } from '../rules/language/rule-errors.js';

/** A rule to add to the stream, with an optional tag. */
export interface NewRule {
  readonly value: string;
  /** Appears in the `matching_rules` of each matching post. */
  readonly tag?: string | null | undefined;
}

/** A rule that the replay stream has. */
export interface ReplayRule {
  readonly value: string;
  readonly tag: string | null;
  /** 64 bits, so a string of digits. Absent for rules from before April 2016. */
  readonly id: string | undefined;
}

/** A rule as the service lists it. */
export function parseReplayRule(rule: Fields): ReplayRule {
  return { value: rule.needText('value'), tag: rule.text('tag') ?? null, id: rule.text('id') };
}

/** @throws OptionError unless each is a rule that can be sent. */
export function checkRules(
  call: string,
  rules: readonly NewRule[],
  option = 'rules',
): readonly NewRule[] {
  const isList = Array.isArray(rules) && (rules as readonly unknown[]).every(isObject);
  if (!isList)
    throw optionError(call, option, textRuleProblem(rules) ?? 'must be an array of { value, tag }');
  for (const { value, tag = null } of rules) {
    checkRuleValue(call, option, value);
    if (tag !== null && typeof tag !== 'string')
      throw optionError(call, option, 'must have a `tag` that is a string or null');
  }
  return rules;
}

/** Checks rules that are named by value or by id. @throws OptionError */
export function checkRulesToDelete(
  call: string,
  rules: readonly unknown[],
): readonly ({ readonly value: string } | { readonly id: string })[] {
  if (!Array.isArray(rules) || !rules.every(isObject))
    throw optionError(
      call,
      'rules',
      textRuleProblem(rules) ?? 'must be an array of { value } or { id }',
    );
  return rules.map(rule =>
    'value' in rule
      ? { value: checkRuleValue(call, 'rules', rule.value) }
      : { id: checkRuleId(call, rule.id) },
  );
}

/** @throws OptionError unless it is an id in the service's form. */
export function checkRuleId(call: string, id: unknown): string {
  // Ids are sent as bare integers, and JSON has no leading zeros.
  if (typeof id !== 'string' || !/^(0|[1-9]\d{0,19})$/.test(id))
    throw optionError(
      call,
      'ids',
      `must have strings of digits, got ${typeof id === 'string' ? JSON.stringify(id) : typeof id}`,
    );
  return id;
}

function checkRuleValue(call: string, option: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw optionError(call, option, 'must have a `value` that is a string and not empty');
  return value;
}

function isObject(rule: unknown): rule is { readonly [key: string]: unknown } {
  return typeof rule === 'object' && rule !== null;
}
