import { parseExact } from '../../json/exact-json.js';
import { HttpProblem } from '../http/http-problem.js';
import { parseJsonObject } from '../http/request-body.js';

export interface RequestedRule {
  readonly value: string;
  readonly tag: string | null;
}

/** The rules that a delete names, by value or by id. */
export type RequestedRules =
  | { readonly rules: readonly RequestedRule[] }
  | { readonly ids: readonly string[] };

type Given = Readonly<Record<string, unknown>>;

/** The body of an add or a validation: `{"rules":[{"value","tag"?}]}`. */
export function readRules(body: Uint8Array): readonly RequestedRule[] {
  const { rules } = objectOf(body);
  if (!Array.isArray(rules) || !rules.every(hasValue)) throw badBody();
  return rules.map(ruleOf);
}

/** The body of a get by id: `{"rule_ids":[integer]}`. */
export function readRuleIds(body: Uint8Array): readonly string[] {
  if (!Array.isArray(objectOf(body).rule_ids)) throw badBody();
  // JSON.parse would round ids, which have 63 bits.
  const { rule_ids: exact } = parseExact(body) as { readonly rule_ids: readonly unknown[] };
  if (!exact.every(isId)) throw badBody();
  return exact.map(String);
}

/** The body of a delete, in either form. A rule without a value matches no rule of the stream. */
export function readDeletion(body: Uint8Array): RequestedRules {
  const { rules, rule_ids: ids } = objectOf(body);
  if ((rules === undefined) === (ids === undefined)) throw badBody();
  if (ids !== undefined) return { ids: readRuleIds(body) };
  if (!Array.isArray(rules) || !rules.every(isRule)) throw badBody();
  return { rules: rules.map(ruleOf) };
}

function objectOf(body: Uint8Array): Given {
  const given = parseJsonObject(body);
  if (given === undefined) throw badBody();
  return given;
}

/** One message for every problem with a body, as the real service has it. */
function badBody(): HttpProblem {
  return new HttpProblem(
    400,
    'Invalid JSON. The body must be in the format ' +
      '{"rules":[{"value":"rule1", "tag":"tag1"}, {"value":"rule2"}]} or ' +
      '{"rule_ids": [rule_id1, rule_id2, rule_id3, rule_id4, rule_id5]}',
  );
}

interface GivenRule {
  readonly value?: string | null;
  readonly tag?: string | null;
}

function isRule(rule: unknown): rule is GivenRule {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) return false;
  const { value, tag } = rule as Given;
  return isOptionalText(value) && isOptionalText(tag);
}

function hasValue(rule: unknown): rule is GivenRule {
  return isRule(rule) && typeof rule.value === 'string';
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

/** Some clients cannot write large integers and send them as strings. */
function isId(id: unknown): boolean {
  return (typeof id === 'number' || typeof id === 'string') && /^(0|[1-9]\d*)$/.test(String(id));
}

function ruleOf({ value, tag }: GivenRule): RequestedRule {
  return { value: value ?? '', tag: tag ?? null };
}
