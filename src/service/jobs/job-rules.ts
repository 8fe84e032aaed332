import { randomBytes } from 'node:crypto';
import { checkRule } from '../../rules/language/check-rule.js';
import { serviceMessage } from '../../rules/language/problem.js';
import type { JobRule } from './job.js';

export interface RequestedRule {
  readonly value: string;
  readonly tag: string | null;
}

/** A rule of a create request and what became of it (service.md 2.5). */
export interface RuleOutcome extends RequestedRule {
  /** Only of a rule that was created. */
  readonly id?: string | undefined;
  /** Why it was not. */
  readonly message?: string | undefined;
}

export interface CheckedRules {
  readonly outcomes: readonly RuleOutcome[];
  /** The rules of the job; none where any rule is invalid. */
  readonly rules: readonly JobRule[];
  readonly invalid: boolean;
}

/** Checks all rules and gives them ids. One that is there already is left out; an invalid one spoils all. */
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

/** The `rules` object of a create response, as JSON: ids are integers that no number can hold. */
export function printRuleOutcomes(outcomes: readonly RuleOutcome[], now: number): string {
  const created = outcomes.filter(({ id }) => id !== undefined).length;
  const summary = JSON.stringify({ created, not_created: outcomes.length - created });
  const detail = outcomes.map(({ value, tag, id, message }) => {
    const ids = id === undefined ? '' : `,"id":${id}`;
    const rule = `{"value":${JSON.stringify(value)},"tag":${JSON.stringify(tag)}${ids}}`;
    const reason = message === undefined ? '' : `,"message":${JSON.stringify(message)}`;
    return `{"rule":${rule},"created":${id !== undefined}${reason}}`;
  });
  const sent = new Date(now).toISOString();
  return `{"summary":${summary},"detail":[${detail.join(',')}],"sent":"${sent}"}`;
}

const given = new Set<string>();

/** 63 bits, and more than 53 of them used, as ids of the service are. */
function newRuleId(): string {
  for (;;) {
    const id = String((randomBytes(8).readBigUInt64BE() >> 1n) | (1n << 60n));
    if (given.has(id)) continue;
    given.add(id);
    return id;
  }
}
