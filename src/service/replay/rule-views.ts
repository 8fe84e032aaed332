import type { RequestedRule } from './rule-requests.js';
import type { MissingRule, RuleOutcome, StreamRule } from './stream-rules.js';

/** Rules in a chunk of a response. */
const CHUNK_RULES = 1_000;

/** The response to list and get: `{rules: [{value, tag, id}], sent}`. */
export function rulesView(rules: readonly StreamRule[], now: number): readonly Uint8Array[] {
  const chunks = [Buffer.from('{"rules":[')];
  for (let at = 0; at < rules.length; at += CHUNK_RULES) {
    const chunk = rules.slice(at, at + CHUNK_RULES).map(ruleText);
    chunks.push(Buffer.from((at === 0 ? '' : ',') + chunk.join(',')));
  }
  chunks.push(Buffer.from(`],"sent":${sentText(now)}}`));
  return chunks;
}

/** The response to an add. */
export function addedView(outcomes: readonly RuleOutcome[], now: number): readonly Uint8Array[] {
  return summaryView(['created', 'not_created'], outcomes, now);
}

/** The response to a validation: valid rules first. */
export function validatedView(
  outcomes: readonly RuleOutcome[],
  now: number,
): readonly Uint8Array[] {
  const sorted = outcomes.toSorted((a, b) => Number(b.done) - Number(a.done));
  return summaryView(['valid', 'not_valid'], sorted, now);
}

/** The response to a delete: its details name only the rules that did not exist. */
export function deletedView(
  deleted: number,
  missing: readonly MissingRule[],
  now: number,
): readonly Uint8Array[] {
  const detail = missing.map(
    ({ rule }) =>
      `{"rule":${'id' in rule ? `{"id":${rule.id}}` : ruleText(rule)},"deleted":false,"message":"Rule does not exist"}`,
  );
  const summary = `{"deleted":${deleted},"not_deleted":${missing.length}}`;
  return [
    Buffer.from(`{"summary":${summary},"detail":[${detail.join(',')}],"sent":${sentText(now)}}`),
  ];
}

function summaryView(
  [done, undone]: readonly [string, string],
  outcomes: readonly RuleOutcome[],
  now: number,
): readonly Uint8Array[] {
  const count = outcomes.filter(outcome => outcome.done).length;
  const detail = outcomes.map(outcome => {
    const reason = outcome.message === undefined ? '' : `,"message":${quote(outcome.message)}`;
    return `{"rule":${ruleText(outcome)},"${done}":${outcome.done}${reason}}`;
  });
  const summary = `{"${done}":${count},"${undone}":${outcomes.length - count}}`;
  return [
    Buffer.from(`{"summary":${summary},"detail":[${detail.join(',')}],"sent":${sentText(now)}}`),
  ];
}

/** Printed by hand, because `JSON.stringify` would round ids, which are 63-bit integers. */
function ruleText({
  value,
  tag,
  id,
}: RequestedRule & { readonly id?: string | undefined }): string {
  const ids = id === undefined ? '' : `,"id":${id}`;
  return `{"value":${quote(value)},"tag":${quote(tag)}${ids}}`;
}

function sentText(now: number): string {
  return quote(new Date(now).toISOString());
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}
