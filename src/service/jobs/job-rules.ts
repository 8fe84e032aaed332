import { randomBytes } from 'node:crypto';
import { RuleMatcher } from '../../rules/index/compile-rules.js';
import { checkRule } from '../../rules/language/check-rule.js';
import { serviceMessage } from '../../rules/language/problem.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { JobRule } from './job-record.js';

export interface RequestedRule {
  readonly value: string;
  readonly tag: string | null;
}

/** A rule of a create request and its outcome. */
export interface RuleOutcome extends RequestedRule {
  /** Only if the rule was created. */
  readonly id?: string | undefined;
  /** Why the rule was not created. */
  readonly message?: string | undefined;
}

export interface CheckedRules {
  readonly outcomes: readonly RuleOutcome[];
  /** The rules of the job; empty if any rule is invalid. */
  readonly rules: readonly JobRule[];
  readonly invalid: boolean;
}

/** Checks all rules and gives them ids. Repeated values are left out; one invalid rule rejects all. */
export function checkJobRules(requested: readonly RequestedRule[]): CheckedRules {
  const messages = requested.map(({ value, tag }) =>
    serviceMessage(checkRule(value, { product: 'historical', tag }).problems),
  );
  if (messages.some(message => message !== '')) {
    const outcomes = requested.map((rule, i) =>
      messages[i] === '' ? rule : { ...rule, message: messages[i] },
    );
    return { outcomes, rules: [], invalid: true };
  }
  const rules: JobRule[] = [];
  const values = new Set<string>();
  const outcomes = requested.map((rule): RuleOutcome => {
    if (values.has(rule.value))
      return { ...rule, message: 'A rule with this value already exists' };
    values.add(rule.value);
    const created = { ...rule, id: newRuleId() };
    rules.push(created);
    return created;
  });
  return { outcomes, rules, invalid: false };
}

const usedIds = new Set<string>();

/** 61 bits or more, as the ids of the service have: more than the 53 that a number holds. */
function newRuleId(): string {
  for (;;) {
    const id = String((randomBytes(8).readBigUInt64BE() >> 1n) | (1n << 60n));
    if (usedIds.has(id)) continue;
    usedIds.add(id);
    return id;
  }
}

/** Rules compiled between two checks of the time. */
const BATCH = 20;

/** Compiles the rules of a job into a matcher, without blocking the event loop for long. */
export async function compileJobRules(
  rules: readonly JobRule[],
  signal: AbortSignal,
): Promise<RuleMatcher> {
  const matcher = new RuleMatcher({ product: 'historical' });
  const work = new EventLoopYield(signal);
  for (let at = 0; at < rules.length; at += BATCH) {
    matcher.add(rules.slice(at, at + BATCH));
    await work.pause();
  }
  return matcher;
}
