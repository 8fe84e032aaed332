import type { RequestedRule } from './rule-requests.js';
import type { StreamRule } from './stream-rules.js';

/** A rule of a request and what became of it. */
export interface RuleOutcome extends RequestedRule {
  /** Of the rule of this value, if there is one now. */
  readonly id?: string | undefined;
  readonly done: boolean;
  /** Why nothing was done. */
  readonly message?: string | undefined;
}

/** Rules that are written at once. */
const BLOCK = 1_000;

/** The answer to list and get: `{rules: [{value, tag, id}], sent}`. */
export function rulesView(rules: readonly StreamRule[], now: number): readonly Uint8Array[] {
  const pieces = [Buffer.from('{"rules":[')];
  for (let at = 0; at < rules.length; at += BLOCK) {
    const block = rules.slice(at, at + BLOCK).map(ruleText);
    pieces.push(Buffer.from((at === 0 ? '' : ',') + block.join(',')));
  }
  pieces.push(Buffer.from(`],"sent":${sentText(now)}}`));
  return pieces;
}

/** The answer to an add. Nothing is created where any rule is invalid. */
export function addedView(outcomes: readonly RuleOutcome[], now: number): readonly Uint8Array[] {
  return summaryView(['created', 'not_created'], outcomes, now);
}

/** The answer to a validation: valid rules first. */
export function validatedView(
  outcomes: readonly RuleOutcome[],
  now: number,
): readonly Uint8Array[] {
  const sorted = outcomes.toSorted((a, b) => Number(b.done) - Number(a.done));
  return summaryView(['valid', 'not_valid'], sorted, now);
}

export interface Miss {
  readonly rule: RequestedRule | { readonly id: string };
}

/** The answer to a delete: only what was not there is named. */
export function deletedView(
  deleted: number,
  misses: readonly Miss[],
  now: number,
): readonly Uint8Array[] {
  const detail = misses.map(
    ({ rule }) =>
      `{"rule":${'id' in rule ? `{"id":${rule.id}}` : ruleText(rule)},"deleted":false,"message":"Rule does not exist"}`,
  );
  const summary = `{"deleted":${deleted},"not_deleted":${misses.length}}`;
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

/** As text: an id is an integer that no number can hold. */
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
