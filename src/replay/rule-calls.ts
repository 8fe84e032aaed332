import { DataError, HttpError, OptionError, RulesError } from '../errors.js';
import type { Account } from '../http/account.js';
import { Fields } from '../http/read-fields.js';
import { readJson, readText } from '../http/read-json.js';
import { type AccountRequest, request } from '../http/request.js';
import { responseError } from '../http/response-error.js';
import { checkRuleId, checkRules, checkRulesToDelete } from './replay-rule.js';
import { ruleBodies } from './rule-bodies.js';
import { type RuleVerdict, ruleVerdicts } from './rule-verdicts.js';
import { type ReplayRulesOptions, replayRulesUrl } from './rules-url.js';

export type { ReplayRulesOptions } from './rules-url.js';

/** A rule to be added. */
export interface NewRule {
  readonly value: string;
  /** Comes back in the `matching_rules` of each post. */
  readonly tag?: string | null | undefined;
}

/** A rule of the stream (service.md 2.2). */
export interface ReplayRule {
  readonly value: string;
  readonly tag: string | null;
  /** 64 bits, so a string of digits. Absent for rules of before April 2016. */
  readonly id: string | undefined;
}

/** What became of a rule that was to be added. */
export interface AddedRule extends ReplayRule {
  /** `false` also for a rule that was there before: see `reason`. */
  readonly created: boolean;
  /** In the service's words, where it was not created. */
  readonly reason?: string | undefined;
}

/** What became of a rule that was to be deleted. */
export interface DeletedRule {
  readonly value?: string | undefined;
  readonly id?: string | undefined;
  readonly deleted: boolean;
  /** In the service's words, where it was not deleted. */
  readonly reason?: string | undefined;
}

/** What the service says of a rule that it was only asked about. */
export interface ValidatedRule {
  readonly value: string;
  readonly valid: boolean;
  /** In the service's words, where it is not valid. */
  readonly reason?: string | undefined;
}

/** Section 8; taken as decimal, the stricter reading. */
const ADD_BYTES = 1_000_000;
const READ_BYTES = 5_000_000;

/**
 * Adds rules to the replay stream (service.md 4.4), as many requests as their size takes. A rule
 * that is there already is left as it is, tag included, and told as not created. A rule that a try
 * added whose answer was lost on the way is told so, too.
 *
 * A request is all or nothing: with one invalid rule, none of its rules is added.
 *
 * @returns what became of each rule, in their order.
 * @throws RulesError for invalid rules: `results` says which and why, and what was added before.
 * @throws HttpError with status 406 while a replay of the stream runs.
 * @example
 * await replayRules.add(account(), [{ value: 'snow lang:en', tag: 'snow' }]);
 */
export async function addReplayRules(
  account: Account,
  rules: readonly NewRule[],
  options: ReplayRulesOptions = {},
): Promise<AddedRule[]> {
  const url = replayRulesUrl(account, options);
  const results: AddedRule[] = [];
  for (const { body, items } of ruleBodies('rules', checkRules(rules), ADD_BYTES, printRule)) {
    const call = { ...post(url, body, options), kind: 'change', expectedStatuses: [422] };
    const { added, refused } = await explained(
      request(account, call, async answer => {
        const refused = answer.status === 422;
        const text = await readText(answer);
        const verdicts = ruleVerdicts(text, 'created');
        if (refused && verdicts.length === 0) throw responseError(account, call, answer, text);
        return { added: addedRules(verdicts, items, refused), refused };
      }),
    );
    results.push(...added);
    if (refused) throw refusedRules(results, rules.length);
  }
  return results;
}

/**
 * Deletes rules of the replay stream, by value (upper and lower case differ) or by id.
 *
 * @returns what became of each rule, in their order: one that is not there is no error. Where the
 * service only answers that it worked, every rule counts as deleted.
 * @throws HttpError with status 406 while a replay of the stream runs.
 * @example
 * await replayRules.delete(account(), [{ value: 'snow lang:en' }, { id: '734938587381145604' }]);
 */
export async function deleteReplayRules(
  account: Account,
  rules: readonly ({ readonly value: string } | { readonly id: string })[],
  options: ReplayRulesOptions = {},
): Promise<DeletedRule[]> {
  const url = replayRulesUrl(account, options);
  url.searchParams.set('_method', 'delete');
  const results = checkRulesToDelete(rules).map(
    (rule): DeletedRule => ({ ...rule, deleted: true }),
  );
  // Each once: the second time, it would not be there.
  const values = new Set(results.flatMap(({ value }) => value ?? []));
  const ids = new Set(results.flatMap(({ id }) => id ?? []));
  const bodies = [
    ...ruleBodies('rules', [...values], ADD_BYTES, value => JSON.stringify({ value })),
    ...ruleBodies('rule_ids', [...ids], ADD_BYTES, id => id),
  ];
  const misses = new Map<string, string>();
  for (const { body } of bodies) {
    const call = { ...post(url, body, options), kind: 'change' };
    const text = await explained(request(account, call, readText));
    for (const { id, value, passed, reason = 'Not deleted' } of ruleVerdicts(text, 'deleted')) {
      if (passed !== false) continue;
      if (id !== undefined) misses.set(keyOf(id, undefined), reason);
      if (value !== undefined) misses.set(keyOf(undefined, value), reason);
    }
  }
  return results.map(result => {
    const reason = misses.get(keyOf(result.id, result.value));
    return reason === undefined ? result : { ...result, deleted: false, reason };
  });
}

/**
 * The rules of the replay stream that have these ids (service.md 4.4). Ids that the stream does not
 * have are left out.
 *
 * @example
 * const [rule] = await replayRules.get(account(), ['734938587381145604']);
 */
export async function getReplayRules(
  account: Account,
  ids: readonly string[],
  options: ReplayRulesOptions = {},
): Promise<ReplayRule[]> {
  const url = replayRulesUrl(account, options);
  url.searchParams.set('_method', 'get');
  if (!Array.isArray(ids))
    throw new OptionError('ids', 'Expected `ids` to be a list of strings of digits');
  const found: ReplayRule[] = [];
  for (const { body } of ruleBodies('rule_ids', ids.map(checkRuleId), READ_BYTES, id => id)) {
    const rules = await request(account, post(url, body, options), async answer =>
      new Fields(await readJson(answer), 'one about rules', answer.url)
        .objects('rules')
        .map(parseReplayRule),
    );
    found.push(...rules);
  }
  return found;
}

/**
 * Asks the service what it thinks of rules, without adding them (service.md 4.4 rule 6). For the
 * same without a request, see `rules.check`.
 *
 * @returns one answer for each rule, in their order.
 * @throws HttpError with status 404 where the service does not have this call.
 * @throws DataError where an answer does not say of each rule whether it is valid.
 * @example
 * const [{ valid, reason }] = await replayRules.validate(account(), [{ value: 'has:vidoes' }]);
 */
export async function validateReplayRules(
  account: Account,
  rules: readonly NewRule[],
  options: ReplayRulesOptions = {},
): Promise<ValidatedRule[]> {
  const url = replayRulesUrl(account, options, '/validation.json');
  const results: ValidatedRule[] = [];
  for (const { body, items } of ruleBodies('rules', checkRules(rules), ADD_BYTES, printRule)) {
    const text = await request(account, post(url, body, options), readText);
    const verdicts = new Map(ruleVerdicts(text, 'valid').map(verdict => [verdict.value, verdict]));
    for (const { value } of items) {
      const { passed: valid, reason } = verdicts.get(value) ?? {};
      if (valid === undefined)
        throw new DataError(
          `The answer does not say whether the rule ${JSON.stringify(value)} is valid: ${text.slice(0, 80)}`,
          { place: { origin: url.href } },
        );
      results.push({ value, valid, ...(reason === undefined ? {} : { reason }) });
    }
  }
  return results;
}

/** A rule as listings have it. */
export function parseReplayRule(rule: Fields): ReplayRule {
  return { value: rule.needText('value'), tag: rule.text('tag') ?? null, id: rule.text('id') };
}

/** A 406 with the reason that 4.4 rule 1 gives for it. */
async function explained<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 406) throw error;
    throw new HttpError(
      `${error.message}. Rules cannot be added or deleted while a replay of the stream is connected: wait until it has ended, or end it`,
      error,
    );
  }
}

function post(
  url: URL,
  body: string,
  { signal }: ReplayRulesOptions,
): Omit<AccountRequest, 'kind'> & { readonly kind?: string } {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { method: 'POST', url, body, headers, signal, family: 'replayRules' };
}

function addedRules(
  verdicts: readonly RuleVerdict[],
  rules: readonly NewRule[],
  refused: boolean,
): AddedRule[] {
  const byValue = new Map<string | undefined, RuleVerdict[]>();
  for (const verdict of verdicts)
    byValue.set(verdict.value, [...(byValue.get(verdict.value) ?? []), verdict]);
  return rules.map(({ value, tag }) => {
    const same = byValue.get(value);
    const verdict = same !== undefined && same.length > 1 ? same.shift() : same?.[0];
    const reason = verdict?.reason;
    return {
      value,
      tag: tag ?? null,
      id: verdict?.id,
      created: verdict?.passed ?? !refused,
      ...(reason === undefined ? {} : { reason }),
    };
  });
}

function refusedRules(results: readonly AddedRule[], total: number): RulesError {
  const invalid = results.filter(({ created, reason }) => !created && reason !== undefined);
  const created = results.filter(rule => rule.created).length;
  const shown = invalid
    .slice(0, 10)
    .map(({ value, reason }) => `\n${JSON.stringify(value)}: ${reason}`);
  const more = invalid.length > shown.length ? `\nand ${invalid.length - shown.length} more` : '';
  return new RulesError(
    `The service refused rules, and ${created} of ${total} were added. Correct these and add all again:${shown.join('')}${more}`,
    { results },
  );
}

function printRule({ value, tag }: NewRule): string {
  return JSON.stringify(tag == null ? { value } : { value, tag });
}

function keyOf(id: string | undefined, value: string | undefined): string {
  return id === undefined ? `value ${value}` : `id ${id}`;
}
