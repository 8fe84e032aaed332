import { DataError, HttpError, OptionError, RulesError } from '../errors.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { replayRules } from './list-rules.js';
import {
  addReplayRules,
  deleteReplayRules,
  type NewRule,
  type ReplayRule,
  type ReplayRulesOptions,
  validateReplayRules,
} from './rule-calls.js';

export interface SyncRulesOptions extends ReplayRulesOptions {
  /** Only tells what would change. @default false */
  readonly dryRun?: boolean | undefined;
}

/** What makes the rules of a stream equal to a list. */
export interface RuleChanges {
  /** Rules that the stream did not have. */
  readonly added: readonly NewRule[];
  /** Rules that the list does not have. */
  readonly deleted: readonly ReplayRule[];
  /** Rules whose tag is another; a tag changes by deleting the rule and adding it with a new id. */
  readonly retagged: readonly (ReplayRule & { readonly from: string | null })[];
  readonly unchanged: number;
  /** `false` after a dry run. */
  readonly applied: boolean;
}

/**
 * Makes the rules of the replay stream equal to a list: adds what is missing, deletes what is too
 * much, and leaves the others alone. Run again, it changes nothing more, and it completes what an
 * earlier run did not.
 *
 * New rules are shown to the service's validation first, where it has one, and are added before any
 * rule is deleted: where the service refuses one, nothing is deleted. For a while the stream thus has
 * the rules of both lists. Only a rule whose tag changes is missing for the moment between the last
 * two requests, since a stream has a value once.
 *
 * @throws RulesError when the service calls a new rule invalid; `results` says which and why.
 * @throws HttpError with status 406 while a replay of the stream runs (service.md 4.4 rule 1).
 * @example
 * const changes = await replayRules.sync(account(), rules, { dryRun: true });
 * console.log(replayRules.renderChanges(changes));
 */
export async function syncRules(
  account: Account,
  wanted: readonly NewRule[],
  syncOptions: SyncRulesOptions = {},
): Promise<RuleChanges> {
  checkNames('options', syncOptions, ['dryRun', 'streamLabel', 'signal']);
  const { dryRun = false, ...options } = syncOptions;
  if (typeof dryRun !== 'boolean')
    throw new OptionError('dryRun', 'Expected `dryRun` to be true or false');
  const missing = byValue(wanted);
  const deleted: ReplayRule[] = [];
  const retagged: (ReplayRule & { readonly from: string | null })[] = [];
  let unchanged = 0;
  for await (const rule of replayRules(account, options)) {
    const same = missing.get(rule.value);
    missing.delete(rule.value);
    if (same === undefined) deleted.push(rule);
    else if ((same.tag ?? null) === rule.tag) unchanged++;
    else retagged.push({ ...rule, tag: same.tag ?? null, from: rule.tag });
  }
  const added = [...missing.values()];
  const changes = { added, deleted, retagged, unchanged };
  if (dryRun) return { ...changes, applied: false };

  await mustBeValid(account, [...added, ...retagged], options);
  if (added.length > 0) await addReplayRules(account, added, options);
  const leaving = [...deleted, ...retagged].map(({ value }) => ({ value }));
  if (leaving.length > 0) await deleteReplayRules(account, leaving, options);
  if (retagged.length > 0) await addReplayRules(account, retagged, options);
  return { ...changes, applied: true };
}

/** The difference as text for people: a line for each rule, and one that sums up. */
export function renderRuleChanges(changes: RuleChanges): string {
  const { added, deleted, retagged, unchanged, applied } = changes;
  const lines = [
    ...deleted.map(rule => `- ${shown(rule)}`),
    ...retagged.map(
      ({ value, from, tag }) => `~ ${shown({ value, tag: from })} -> ${shownTag(tag)}`,
    ),
    ...added.map(rule => `+ ${shown(rule)}`),
  ];
  const sum = `${added.length} added, ${deleted.length} deleted, ${retagged.length} retagged, ${unchanged} unchanged`;
  return [...lines, applied ? sum : `${sum} (dry run: nothing was changed)`].join('\n');
}

function shown({ value, tag }: NewRule): string {
  return `${JSON.stringify(value)} ${shownTag(tag)}`;
}

function shownTag(tag: string | null | undefined): string {
  return tag == null ? '(no tag)' : `[${tag}]`;
}

function byValue(wanted: readonly NewRule[]): Map<string, NewRule> {
  if (!Array.isArray(wanted))
    throw new OptionError('wanted', 'Expected the wanted rules to be a list of { value, tag }');
  const rules = new Map<string, NewRule>();
  for (const rule of wanted as readonly NewRule[]) {
    if (typeof rule?.value !== 'string' || rule.value.trim() === '')
      throw new OptionError('wanted', 'Expected the `value` of a rule to be a string, not empty');
    const { tag } = rule;
    if (tag != null && typeof tag !== 'string')
      throw new OptionError('wanted', 'Expected the `tag` of a rule to be a string or null');
    const same = rules.get(rule.value);
    if (same !== undefined && (same.tag ?? null) !== (rule.tag ?? null))
      throw new OptionError(
        'wanted',
        `The rule ${JSON.stringify(rule.value)} is wanted with two tags, ${shownTag(same.tag)} and ${shownTag(rule.tag)}: a stream has a value once`,
      );
    rules.set(rule.value, rule);
  }
  return rules;
}

async function mustBeValid(
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
    `The service calls rules invalid, and nothing was changed:${shownOnes.join('')}`,
    { results: verdicts.map(({ valid: _, ...rule }) => ({ ...rule, created: false })) },
  );
}

/** Path and payload of the validation are not published: one that is not there is done without. */
function withoutValidation(error: unknown): [] {
  if (error instanceof DataError || (error instanceof HttpError && error.status === 404)) return [];
  throw error;
}
