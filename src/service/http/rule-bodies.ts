import { isRecord } from '../../base/record.js';
import { checkRule } from '../../rules/language/check-rule.js';
import { serviceMessage } from '../../rules/language/problem.js';
import type { RuleProduct } from '../../rules/post/dialect.js';
import { EventLoopYield } from '../event-loop-yield.js';

export interface RequestedRule {
  readonly value: string;
  readonly tag: string | null;
}

/** A rule of a job or of the replay stream. */
export interface KnownRule extends RequestedRule {
  /** The 63-bit id, as digits. */
  readonly id: string;
}

export interface RuleOutcome extends RequestedRule {
  /** The id, as digits; absent for a rule that does not exist. */
  readonly id?: string | undefined;
  /** Whether the rule was added, or whether it is valid, depending on the request. */
  readonly done: boolean;
  readonly message?: string | undefined;
}

/**
 * Reads `{"value","tag"?}`. Returns `undefined` for anything else. Without `needsValue`, a missing value is
 * read as an empty string.
 */
export function readRule(rule: unknown, needsValue = true): RequestedRule | undefined {
  if (!isRecord(rule)) return undefined;
  const { value = null, tag = null } = rule;
  const isGiven = typeof value === 'string' || (value === null && !needsValue);
  if (!isGiven || (tag !== null && typeof tag !== 'string')) return undefined;
  return { value: value ?? '', tag };
}

/** Checks the syntax of all rules, without blocking the event loop for long. */
export async function checkRuleSyntax(
  requested: readonly RequestedRule[],
  product: RuleProduct,
): Promise<readonly RuleOutcome[]> {
  const outcomes: RuleOutcome[] = [];
  const work = new EventLoopYield();
  for (const rule of requested) {
    if (work.isDue) await work.pause();
    const { value, tag } = rule;
    const message = serviceMessage(checkRule(value, { product, tag }).problems);
    outcomes.push(message === '' ? { ...rule, done: true } : { ...rule, done: false, message });
  }
  return outcomes;
}

/**
 * Refuses all rules if any of them is invalid: returns the outcomes, each with `done: false`. Returns
 * `undefined` if all rules are valid.
 */
export function rejected(checked: readonly RuleOutcome[]): readonly RuleOutcome[] | undefined {
  return checked.every(({ done }) => done)
    ? undefined
    : checked.map(outcome => ({ ...outcome, done: false }));
}

/**
 * Prints the outcomes as JSON. `done` and `undone` are the names of two counts: the rules that were
 * processed, and the rules that were not.
 */
export function outcomesText(
  outcomes: readonly RuleOutcome[],
  now: number,
  [done, undone]: readonly [string, string] = ['created', 'not_created'],
): string {
  const count = outcomes.filter(outcome => outcome.done).length;
  const detail = outcomes.map(outcome => {
    const reason = outcome.message === undefined ? '' : `,"message":${quote(outcome.message)}`;
    return `{"rule":${ruleText(outcome)},"${done}":${outcome.done}${reason}}`;
  });
  return summaryText(`"${done}":${count},"${undone}":${outcomes.length - count}`, detail, now);
}

export function summaryText(counts: string, detail: readonly string[], now: number): string {
  return `{"summary":{${counts}},"detail":[${detail.join(',')}],"sent":${sentText(now)}}`;
}

/** Prints a rule without `JSON.stringify`, which would round its id, a 63-bit integer. */
export function ruleText({ value, tag, id }: Omit<RuleOutcome, 'done'>): string {
  const ids = id === undefined ? '' : `,"id":${id}`;
  return `{"value":${quote(value)},"tag":${quote(tag)}${ids}}`;
}

export function sentText(now: number): string {
  return quote(new Date(now).toISOString());
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}
