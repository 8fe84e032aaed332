import { parseExact } from '../../json/exact-json.js';
import { HttpProblem } from '../http/http-problem.js';
import { parseJsonObject } from '../http/request-body.js';
import {
  outcomesText,
  type RequestedRule,
  type RuleOutcome,
  readRule,
  ruleText,
  sentText,
  summaryText,
} from '../http/rule-outcomes.js';
import type { MissingRule, RequestedRules, StreamRule } from './stream-rules.js';

/** The body of an add or a validation: `{"rules":[{"value","tag"?}]}`. */
export function readRules(body: Uint8Array): readonly RequestedRule[] {
  return rulesOf(objectOf(body).rules);
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
  return ids === undefined ? { rules: rulesOf(rules, false) } : { ids: readRuleIds(body) };
}

function rulesOf(given: unknown, needsValue = true): readonly RequestedRule[] {
  if (!Array.isArray(given)) throw badBody();
  return given.map(rule => {
    const read = readRule(rule, needsValue);
    if (read === undefined) throw badBody();
    return read;
  });
}

function objectOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  const given = parseJsonObject(body);
  if (given === undefined) throw badBody();
  return given;
}

/** The same message for each problem with a body, as the real service has it. */
function badBody(): HttpProblem {
  return new HttpProblem(
    400,
    'Invalid JSON. The body must be in the format ' +
      '{"rules":[{"value":"rule1", "tag":"tag1"}, {"value":"rule2"}]} or ' +
      '{"rule_ids": [rule_id1, rule_id2, rule_id3, rule_id4, rule_id5]}',
  );
}

/** Some clients cannot write large integers and send them as strings. */
function isId(id: unknown): boolean {
  return (typeof id === 'number' || typeof id === 'string') && /^(0|[1-9]\d*)$/.test(String(id));
}

/** Rules in a chunk of a response. */
const CHUNK_RULES = 1_000;

/** The response to list and get: `{rules: [{value, tag, id}], sent}`. */
export function rulesBody(rules: readonly StreamRule[], now: number): readonly Uint8Array[] {
  const chunks = [Buffer.from('{"rules":[')];
  for (let at = 0; at < rules.length; at += CHUNK_RULES) {
    const chunk = rules.slice(at, at + CHUNK_RULES).map(ruleText);
    chunks.push(Buffer.from((at === 0 ? '' : ',') + chunk.join(',')));
  }
  chunks.push(Buffer.from(`],"sent":${sentText(now)}}`));
  return chunks;
}

/** The response to an add. */
export function addedBody(outcomes: readonly RuleOutcome[], now: number): readonly Uint8Array[] {
  return [Buffer.from(outcomesText(outcomes, now))];
}

/** The response to a validation: valid rules first. */
export function validatedBody(
  outcomes: readonly RuleOutcome[],
  now: number,
): readonly Uint8Array[] {
  const sorted = outcomes.toSorted((a, b) => Number(b.done) - Number(a.done));
  return [Buffer.from(outcomesText(sorted, now, ['valid', 'not_valid']))];
}

/** The response to a delete: its details name only the rules that did not exist. */
export function deletedBody(
  deleted: number,
  missing: readonly MissingRule[],
  now: number,
): readonly Uint8Array[] {
  const detail = missing.map(
    ({ rule }) =>
      `{"rule":${'id' in rule ? `{"id":${rule.id}}` : ruleText(rule)},"deleted":false,"message":"Rule does not exist"}`,
  );
  const counts = `"deleted":${deleted},"not_deleted":${missing.length}`;
  return [Buffer.from(summaryText(counts, detail, now))];
}
