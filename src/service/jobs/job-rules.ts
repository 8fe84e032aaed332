import { randomBytes } from 'node:crypto';
import { RuleMatcher } from '../../rules/index/compile-rules.js';
import { EventLoopYield } from '../event-loop-yield.js';
import {
  checkRuleSyntax,
  type KnownRule,
  type RequestedRule,
  type RuleOutcome,
  rejected,
} from '../http/rule-bodies.js';

export interface CheckedRules {
  readonly outcomes: readonly RuleOutcome[];
  /** The rules of the job; `undefined` if a rule is invalid. */
  readonly rules: readonly KnownRule[] | undefined;
}

/**
 * Checks all rules and assigns ids to them. Skips repeated values. One invalid rule causes all rules to be
 * refused.
 */
export async function checkJobRules(requested: readonly RequestedRule[]): Promise<CheckedRules> {
  const invalid = rejected(await checkRuleSyntax(requested, 'historical'));
  if (invalid !== undefined) return { outcomes: invalid, rules: undefined };
  const rules = new Map<string, KnownRule>();
  const outcomes = requested.map((rule): RuleOutcome => {
    if (rules.has(rule.value))
      return { ...rule, done: false, message: 'A rule with this value already exists' };
    const created = { ...rule, id: newRuleId() };
    rules.set(rule.value, created);
    return { ...created, done: true };
  });
  return { outcomes, rules: [...rules.values()] };
}

/**
 * Returns a random id of 61 to 63 bits, like the ids of the real service. A client that parses such an id as
 * a number loses digits.
 */
function newRuleId(): string {
  return String((randomBytes(8).readBigUInt64BE() >> 1n) | (1n << 60n));
}

const RULES_PER_CHECK = 20;

/** Compiles the rules of a job to a matcher, without blocking the event loop for long. */
export async function compileJobRules(
  rules: readonly KnownRule[],
  signal: AbortSignal,
): Promise<RuleMatcher> {
  const matcher = new RuleMatcher({ product: 'historical' });
  const work = new EventLoopYield(signal);
  for (let at = 0; at < rules.length; at += RULES_PER_CHECK) {
    matcher.add(rules.slice(at, at + RULES_PER_CHECK));
    await work.pause();
  }
  return matcher;
}
