import { checkOptions, type OptionTable, optionError, signal, text } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { type Account, checkAccount } from '../http/account.js';
import { JsonMembers } from '../http/read-json.js';
import { serviceUrl } from '../http/service-url.js';
import { parseExact } from '../json/exact-ids.js';
import { textRuleProblem } from '../rules/language/render-problem.js';
import { warnOfRules } from '../rules/language/warn-of-rules.js';

/** Options of all `replayRules` calls. */
export interface ReplayRulesOptions {
  /** The label of the replay stream that has the rules. @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export const REPLAY_RULES_OPTIONS = {
  streamLabel: text('the label of the stream'),
  signal: signal(),
} satisfies OptionTable<ReplayRulesOptions>;

/**
 * Returns the URL for the rules of a replay stream. `rest` is appended to the path, which ends with the label
 * of the stream.
 *
 * @throws OptionError
 */
export function replayRulesUrl(
  call: string,
  account: Account,
  options: ReplayRulesOptions,
  rest = '.json',
): URL {
  checkAccount(account);
  const { streamLabel } = checkOptions(call, REPLAY_RULES_OPTIONS, options);
  const path = 'rules/{rulestream}-replay/accounts/{account}/publishers/{publisher}/{streamLabel}';
  return serviceUrl(account, 'rulesUrl', `${path}${rest}`, {
    purpose: 'replay rules',
    given: { streamLabel },
  });
}

interface RuleBody<T> {
  readonly body: string;
  readonly items: readonly T[];
}

/**
 * Splits items into bodies `{"rules":[...]}` or `{"rule_ids":[...]}` of at most `maxBytes` each. `print`
 * returns the JSON of an item. `JSON.stringify` is not used for this, because it cannot write ids, which are
 * bare 64-bit integers.
 */
export function* ruleBodies<T>(
  key: 'rules' | 'rule_ids',
  items: readonly T[],
  maxBytes: number,
  print: (item: T) => string,
): Generator<RuleBody<T>, void, undefined> {
  const frame = `{"${key}":[]}`.length;
  let printed: string[] = [];
  let included: T[] = [];
  let bytes = frame;
  const body = () => ({ body: `{"${key}":[${printed.join(',')}]}`, items: included });
  for (const item of items) {
    const json = print(item);
    const size = Buffer.byteLength(json) + 1;
    if (frame + size > maxBytes)
      throw new OptionError(
        key,
        `One of \`${key}\` has ${size} bytes, and a request takes at most ${maxBytes}: ${json.slice(0, 80)}...`,
      );
    if (bytes + size > maxBytes) {
      yield body();
      printed = [];
      included = [];
      bytes = frame;
    }
    printed.push(json);
    included.push(item);
    bytes += size;
  }
  if (included.length > 0) yield body();
}

export interface RuleVerdict {
  readonly value: string | undefined;
  readonly id: string | undefined;
  /**
   * Whether the rule was created, was deleted or is valid, depending on the request. `undefined` if the
   * response does not say.
   */
  readonly passed: boolean | undefined;
  readonly reason: string | undefined;
}

/**
 * Parses the verdicts in the body of a response. Returns no verdicts for a body that is empty or not about
 * rules: for adding and deleting, the service documents only the status.
 */
export function ruleVerdicts(
  body: string,
  flag: 'created' | 'deleted' | 'valid',
): readonly RuleVerdict[] {
  try {
    return new JsonMembers(parseExact(body), 'one about rules', '').objects('detail').map(entry => {
      const rule = entry.object('rule');
      return {
        value: rule?.text('value'),
        id: rule?.text('id'),
        passed: entry.has(flag) ? entry.flag(flag) : undefined,
        reason: entry.text('message')?.trim(),
      };
    });
  } catch {
    return [];
  }
}

/** A rule to add to the stream, with an optional tag. */
export interface NewRule {
  readonly value: string;
  /** The tag that appears in the `matching_rules` of each matching post. */
  readonly tag?: string | null | undefined;
}

/** A rule of the replay stream. */
export interface ReplayRule {
  readonly value: string;
  readonly tag: string | null;
  /** The 64-bit id, as digits. Rules created before April 2016 have none. */
  readonly id: string | undefined;
}

export function parseReplayRule(rule: JsonMembers): ReplayRule {
  return { value: rule.needText('value'), tag: rule.text('tag') ?? null, id: rule.text('id') };
}

/** @throws OptionError unless every element is a rule that can be sent. */
export function checkReplayRules(
  call: string,
  rules: readonly NewRule[],
  option = 'rules',
): readonly NewRule[] {
  mustBeObjects(call, option, rules, '{ value, tag }');
  for (const { value, tag = null } of rules) {
    checkRuleValue(call, option, value);
    if (tag !== null && typeof tag !== 'string')
      throw optionError(call, option, 'must have a `tag` that is a string or null');
  }
  return rules;
}

export function warnOfReplayRules(call: string, rules: readonly NewRule[]): void {
  warnOfRules(
    call,
    'replay',
    rules.map(({ value }) => value),
  );
}

function mustBeObjects(
  call: string,
  option: string,
  rules: readonly unknown[],
  wanted: string,
): asserts rules is readonly Record<string, unknown>[] {
  if (!Array.isArray(rules) || !rules.every(isRecord))
    throw optionError(call, option, textRuleProblem(rules) ?? `must be an array of ${wanted}`);
}

/** Checks rules to delete. Each must have either a value or an id. @throws OptionError */
export function checkRulesToDelete(
  call: string,
  rules: readonly unknown[],
): readonly ({ readonly value: string } | { readonly id: string })[] {
  mustBeObjects(call, 'rules', rules, '{ value } or { id }');
  return rules.map(rule =>
    'value' in rule
      ? { value: checkRuleValue(call, 'rules', rule.value) }
      : { id: checkRuleId(call, rule.id) },
  );
}

/** @throws OptionError if `id` is not an id in the service's notation. */
export function checkRuleId(call: string, id: unknown): string {
  // Ids are sent as bare integers, for which JSON does not allow leading zeros.
  if (typeof id !== 'string' || !/^(0|[1-9]\d{0,19})$/.test(id))
    throw optionError(
      call,
      'ids',
      `must have strings of digits, got ${typeof id === 'string' ? JSON.stringify(id) : typeof id}`,
    );
  return id;
}

function checkRuleValue(call: string, option: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '')
    throw optionError(call, option, 'must have a `value` that is a string and not empty');
  return value;
}
