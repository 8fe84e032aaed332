import { LinkedAbort } from '../base/abortable.js';
import { Channel } from '../base/channel.js';
import { optionError } from '../base/check.js';
import { DataError, HttpError, RulesError } from '../base/errors.js';
import { batchesOf, type Flow, type Run, sourceFlow } from '../flow/flow.js';
import { frameRecords } from '../flow/frame-records.js';
import type { Account } from '../http/account.js';
import { JsonMembers, readJson, readText } from '../http/read-json.js';
import { type AccountRequest, request } from '../http/request.js';
import { responseError } from '../http/response-error.js';
import { excerpt } from '../json/excerpt.js';
import { JsonArrayFramer } from '../json/json-array-framer.js';
import { recordLimits } from '../json/records.js';
import { IdWindow } from '../post/id-window.js';
import {
  checkReplayRules,
  checkRuleId,
  checkRulesToDelete,
  type NewRule,
  parseReplayRule,
  type ReplayRule,
  type ReplayRulesOptions,
  type RuleVerdict,
  replayRulesUrl,
  ruleBodies,
  ruleVerdicts,
  warnOfReplayRules,
} from './rule-request.js';

/** The result of adding a rule. */
export interface AddedRule extends ReplayRule {
  /** Whether this call created the rule. `false` if the rule already existed or was refused; see `reason`. */
  readonly created: boolean;
  /** The message of the service, if the rule was not created. */
  readonly reason?: string | undefined;
}

/** The result of deleting a rule. */
export interface DeletedRule {
  readonly value?: string | undefined;
  readonly id?: string | undefined;
  readonly deleted: boolean;
  /** The message of the service, if the rule was not deleted. */
  readonly reason?: string | undefined;
}

/** The result of validating a rule. Validating does not add the rule. */
export interface ValidatedRule {
  readonly value: string;
  readonly valid: boolean;
  /** The message of the service, if the rule is not valid. */
  readonly reason?: string | undefined;
}

/**
 * The maximum size in bytes of a request that changes or validates rules, and of a request that reads rules
 * by id. The documentation says 1 MB and 5 MB. Decimal units are used because they are smaller than binary
 * units.
 */
const ADD_BYTES = 1_000_000;
const READ_BYTES = 5_000_000;

/**
 * Adds rules to the replay stream, in as many requests as their size requires. A rule that already exists is
 * not changed, not even its tag, and is returned as not created. This also happens to a rule that was added
 * by an earlier attempt whose response was lost.
 *
 * The service adds either all rules of a request or none: if one is invalid, none is added.
 *
 * @returns The result for each rule, in the order of `rules`.
 * @throws RulesError for invalid rules. `results` has the reasons, and the rules that earlier requests added.
 * @throws HttpError with status 406 while a replay of the stream runs.
 * @example
 * await replayRules.add(account(), [{ value: 'snow lang:en', tag: 'snow' }]);
 */
export async function addReplayRules(
  account: Account,
  rules: readonly NewRule[],
  options: ReplayRulesOptions = {},
): Promise<AddedRule[]> {
  const url = replayRulesUrl('replayRules.add', account, options);
  const checked = checkReplayRules('replayRules.add', rules);
  warnOfReplayRules('replayRules.add', checked);
  const results: AddedRule[] = [];
  for (const { body, items } of ruleBodies('rules', checked, ADD_BYTES, printRule)) {
    const call: AccountRequest = {
      ...post(url, body, options),
      kind: 'change',
      expectedStatuses: [422],
    };
    const { added, refused } = await explained(
      request(account, call, async response => {
        const refused = response.status === 422;
        const text = await readText(response);
        const verdicts = ruleVerdicts(text, 'created');
        if (refused && verdicts.length === 0) throw responseError(account, call, response, text);
        return { added: addedRules(verdicts, items, refused), refused };
      }),
    );
    results.push(...added);
    if (refused) throw refusedRules(results, rules.length);
  }
  return results;
}

/**
 * Deletes rules of the replay stream, by value (case-sensitive) or by id.
 *
 * @returns The result for each rule, in the order of `rules`. A rule that does not exist is not an error. If
 *   the service responds with only a success status, every rule counts as deleted.
 * @throws HttpError with status 406 while a replay of the stream runs.
 * @example
 * await replayRules.delete(account(), [{ value: 'snow lang:en' }, { id: '734938587381145604' }]);
 */
export async function deleteReplayRules(
  account: Account,
  rules: readonly ({ readonly value: string } | { readonly id: string })[],
  options: ReplayRulesOptions = {},
): Promise<DeletedRule[]> {
  const url = replayRulesUrl('replayRules.delete', account, options);
  url.searchParams.set('_method', 'delete');
  const results = checkRulesToDelete('replayRules.delete', rules).map(
    (rule): DeletedRule => ({ ...rule, deleted: true }),
  );
  // Duplicates are removed, because the service would report a repeated rule as missing.
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
 * Returns the rules of the replay stream with these ids. Skips ids that the stream does not have.
 *
 * @example
 * const [rule] = await replayRules.get(account(), ['734938587381145604']);
 */
export async function getReplayRules(
  account: Account,
  ids: readonly string[],
  options: ReplayRulesOptions = {},
): Promise<ReplayRule[]> {
  const url = replayRulesUrl('replayRules.get', account, options);
  url.searchParams.set('_method', 'get');
  if (!Array.isArray(ids))
    throw optionError('replayRules.get', 'ids', 'must be an array of strings of digits');
  const checked = ids.map(id => checkRuleId('replayRules.get', id));
  const found: ReplayRule[] = [];
  for (const { body } of ruleBodies('rule_ids', checked, READ_BYTES, id => id)) {
    const rules = await request(account, post(url, body, options), async response =>
      new JsonMembers(await readJson(response), 'one about rules', response.url)
        .objects('rules')
        .map(parseReplayRule),
    );
    found.push(...rules);
  }
  return found;
}

/**
 * Asks the service whether rules are valid, without adding them. `rules.check` checks them without a request.
 *
 * @returns The result for each rule, in the order of `rules`.
 * @throws HttpError with status 404 if the service does not have this call.
 * @throws DataError if the response does not say for each rule whether it is valid.
 * @example
 * const [{ valid, reason }] = await replayRules.validate(account(), [{ value: 'has:vidoes' }]);
 */
export async function validateReplayRules(
  account: Account,
  rules: readonly NewRule[],
  options: ReplayRulesOptions = {},
): Promise<ValidatedRule[]> {
  const url = replayRulesUrl('replayRules.validate', account, options, '/validation.json');
  const checked = checkReplayRules('replayRules.validate', rules);
  const results: ValidatedRule[] = [];
  for (const { body, items } of ruleBodies('rules', checked, ADD_BYTES, printRule)) {
    const text = await request(account, post(url, body, options), readText);
    const verdicts = new Map(ruleVerdicts(text, 'valid').map(verdict => [verdict.value, verdict]));
    for (const { value } of items) {
      const { passed: valid, reason } = verdicts.get(value) ?? {};
      if (valid === undefined)
        throw new DataError(
          `The response does not say whether the rule ${JSON.stringify(value)} is valid: ${excerpt(text)}`,
          { position: { origin: url.href } },
        );
      results.push({ value, valid, ...(reason === undefined ? {} : { reason }) });
    }
  }
  return results;
}

/** If the service answers with 406, adds the usual reason to the error: a replay is connected. */
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

function post(url: URL, body: string, { signal }: ReplayRulesOptions): AccountRequest {
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

const MAX_WAITING = 2_000;

/**
 * Returns the rules of the replay stream as a flow, so that even hundreds of thousands of rules need little
 * memory. After a truncated response, the request is sent again. The flow then continues with the rules that
 * it has not delivered yet.
 *
 * @throws OptionError immediately, for invalid options or missing settings of the account.
 * @throws HttpError, ConnectionError, DataError from the flow.
 * @example
 * for await (const { id, value, tag } of replayRules.list(account())) console.log(id, tag, value);
 */
export function listReplayRules(
  account: Account,
  options: ReplayRulesOptions = {},
): Flow<ReplayRule> {
  const url = replayRulesUrl('replayRules.list', account, options);
  const step = { step: 'replayRules', path: url.pathname, ...account.serviceAt(url) };
  return sourceFlow(step, run => listed(account, url, run, options.signal));
}

async function* listed(account: Account, url: URL, run: Run, signal: AbortSignal | undefined) {
  const linked = new LinkedAbort(run.signal, signal);
  const bound = linked.signal;
  const queue = new Channel<ReplayRule>(MAX_WAITING);
  const seen = new IdWindow(Number.POSITIVE_INFINITY);
  const call = {
    method: 'GET',
    url,
    family: 'replayRules',
    kind: 'change',
    signal: bound,
  } as const;
  const limits = recordLimits('replayRules');
  request(account.withProgress(run.progress), call, async answer => {
    const body = batchesOf(answer.body, { signal: bound });
    const start = () => new JsonArrayFramer(['rules'], limits, answer.url);
    for await (const { items } of frameRecords('replayRules.list', body, start)) {
      const rules = items.map(rule => parseReplayRule(new JsonMembers(rule, 'a rule', answer.url)));
      await queue.add(rules.filter(({ id, value }) => seen.add(id ?? `value ${value}`)));
    }
  }).then(
    () => queue.end(),
    error => queue.fail(error),
  );
  try {
    for await (const items of queue.batches()) {
      if (run.progress !== undefined) run.progress.received += items.length;
      yield { items };
    }
  } finally {
    linked.unlink();
  }
}
