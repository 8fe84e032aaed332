import {
  checkOptions,
  checkValue,
  flag,
  made,
  type OptionTable,
  optionError,
  required,
} from '../base/check.js';
import { DataError, HttpError, RulesError } from '../base/errors.js';
import type { Account } from '../http/account.js';
import {
  addReplayRules,
  deleteReplayRules,
  listReplayRules,
  validateReplayRules,
} from './rule-calls.js';
import {
  checkReplayRules,
  type NewRule,
  REPLAY_RULES_OPTIONS,
  type ReplayRule,
  type ReplayRulesOptions,
  warnOfReplayRules,
} from './rule-request.js';

/** Options of `replayRules.sync`: the stream, and whether to report the changes without making them. */
export interface SyncRulesOptions extends ReplayRulesOptions {
  /** Whether to return the changes without making them. @default false */
  readonly dryRun?: boolean | undefined;
}

/** The changes that make the rules of a stream equal to a list. */
export interface RuleChanges {
  /** Rules that are only in the list. */
  readonly added: readonly NewRule[];
  /** Rules that are only in the stream. */
  readonly deleted: readonly ReplayRule[];
  /** Rules whose tag differs. A tag is changed by deleting the rule and adding it again, with a new id. */
  readonly retagged: readonly (ReplayRule & { readonly from: string | null })[];
  readonly unchanged: number;
  /** Whether the changes were made; `false` after a dry run. */
  readonly applied: boolean;
}

export const SYNC_OPTIONS = {
  ...REPLAY_RULES_OPTIONS,
  dryRun: flag('change nothing', false),
} satisfies OptionTable<SyncRulesOptions>;

/**
 * Makes the rules of the replay stream equal to a list. Adds missing rules, deletes rules that are not in the
 * list, and does not change the others. A second call changes nothing, or completes an earlier call that
 * failed.
 *
 * New rules are first validated by the service, if it supports this, and added before any rule is deleted. If
 * the service refuses a new rule, nothing is deleted. For a while, the stream has both the old and the new
 * rules. A stream can have each value only once, so a rule whose tag changes is deleted and added again.
 * Between these two requests, the rule is missing from the stream.
 *
 * @throws RulesError if the service says that a new rule is invalid; `results` has the reasons.
 * @throws HttpError with status 406 while a replay of the stream is connected.
 * @example
 * const wanted = [{ value: 'snow lang:en', tag: 'snow' }];
 * const changes = await replayRules.sync(account(), wanted, { dryRun: true });
 * console.log(replayRules.renderChanges(changes));
 */
export async function syncRules(
  account: Account,
  rules: readonly NewRule[],
  syncOptions: SyncRulesOptions = {},
): Promise<RuleChanges> {
  const { dryRun, ...options } = checkOptions('replayRules.sync', SYNC_OPTIONS, syncOptions);
  const missing = byValue(rules);
  const deleted: ReplayRule[] = [];
  const retagged: (ReplayRule & { readonly from: string | null })[] = [];
  let unchanged = 0;
  for await (const rule of listReplayRules(account, options)) {
    const same = missing.get(rule.value);
    missing.delete(rule.value);
    if (same === undefined) deleted.push(rule);
    else if ((same.tag ?? null) === rule.tag) unchanged++;
    else retagged.push({ ...rule, tag: same.tag ?? null, from: rule.tag });
  }
  const added = [...missing.values()];
  const changes = { added, deleted, retagged, unchanged };
  warnOfReplayRules('replayRules.sync', [...added, ...retagged]);
  if (dryRun) return { ...changes, applied: false };

  await validate(account, [...added, ...retagged], options);
  if (added.length > 0) await addReplayRules(account, added, options);
  const outdated = [...deleted, ...retagged].map(({ value }) => ({ value }));
  if (outdated.length > 0) await deleteReplayRules(account, outdated, options);
  if (retagged.length > 0) await addReplayRules(account, retagged, options);
  return { ...changes, applied: true };
}

const CHANGES = required(
  made<RuleChanges>('the changes to show', 'what `await replayRules.sync()` gives', [
    ...(['added', 'deleted', 'retagged'] as const),
  ]),
);

/**
 * Formats the changes as readable text: a line for each rule, and a summary.
 *
 * @throws OptionError For an argument that is not a result of `replayRules.sync`.
 * @example
 * console.log(replayRules.renderChanges(await replayRules.sync(account(), wanted)));
 */
export function renderRuleChanges(changes: RuleChanges): string {
  checkValue('replayRules.renderChanges', 'changes', CHANGES, changes);
  const { added, deleted, retagged, unchanged, applied } = changes;
  const lines = [
    ...deleted.map(rule => `- ${shown(rule)}`),
    ...retagged.map(
      ({ value, from, tag }) => `~ ${shown({ value, tag: from })} -> ${shownTag(tag)}`,
    ),
    ...added.map(rule => `+ ${shown(rule)}`),
  ];
  const summary = `${added.length} added, ${deleted.length} deleted, ${retagged.length} retagged, ${unchanged} unchanged`;
  return [...lines, applied ? summary : `${summary} (dry run: nothing was changed)`].join('\n');
}

function shown({ value, tag }: NewRule): string {
  return `${JSON.stringify(value)} ${shownTag(tag)}`;
}

function shownTag(tag: string | null | undefined): string {
  return tag == null ? '(no tag)' : `[${tag}]`;
}

function byValue(list: readonly NewRule[]): Map<string, NewRule> {
  const rules = new Map<string, NewRule>();
  for (const rule of checkReplayRules('replayRules.sync', list)) {
    const same = rules.get(rule.value);
    if (same !== undefined && (same.tag ?? null) !== (rule.tag ?? null))
      throw optionError(
        'replayRules.sync',
        'rules',
        `must have each value once: ${JSON.stringify(rule.value)} has two tags, ${shownTag(same.tag)} and ${shownTag(rule.tag)}`,
      );
    rules.set(rule.value, rule);
  }
  return rules;
}

async function validate(
  account: Account,
  rules: readonly NewRule[],
  options: ReplayRulesOptions,
): Promise<void> {
  if (rules.length === 0) return;
  const verdicts = await validateReplayRules(account, rules, options).catch(withoutValidation);
  const invalid = verdicts.filter(({ valid }) => !valid);
  if (invalid.length === 0) return;
  const shownOnes = invalid.map(
    ({ value, reason }) => `\n${JSON.stringify(value)}: ${reason ?? 'not valid'}`,
  );
  throw new RulesError(
    `The service says that rules are invalid; nothing was changed:${shownOnes.join('')}`,
    { results: verdicts.map(({ valid: _, ...rule }) => ({ ...rule, created: false })) },
  );
}

/**
 * Returns no results if the response shows that the service lacks the undocumented validation call. The rules
 * are then added without validation. Throws any other error.
 */
function withoutValidation(error: unknown): [] {
  if (error instanceof DataError || (error instanceof HttpError && error.status === 404)) return [];
  throw error;
}
