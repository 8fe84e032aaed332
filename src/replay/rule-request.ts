import { checkOptions, type OptionTable, signal, text } from '../check.js';
import { OptionError } from '../errors.js';
import { type Account, checkAccount } from '../http/account.js';
import { Fields } from '../http/read-fields.js';
import { serviceUrl } from '../http/service-url.js';
import { parseExact } from '../json/exact-json.js';

/** The options of all calls about the rules of a replay stream. */
export interface ReplayRulesOptions {
  /** The label of the replay stream that has the rules. @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export const REPLAY_RULES_OPTIONS = {
  streamLabel: text('the label of the stream'),
  signal: signal(),
} satisfies OptionTable<ReplayRulesOptions>;

/**
 * The address of the rules of a replay stream; `rest` follows its label.
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
    needs: ['email', 'password'],
  });
}

/** The body of a request, and the items in it. */
export interface RuleBody<T> {
  readonly body: string;
  readonly items: readonly T[];
}

/**
 * Splits items into bodies `{"rules":[...]}` or `{"rule_ids":[...]}` of at most `maxBytes` each.
 * `print` makes the JSON of an item: ids are bare 64-bit integers, which `JSON.stringify` cannot
 * print.
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

/** The service's answer about one rule of a request. */
export interface RuleVerdict {
  readonly value: string | undefined;
  readonly id: string | undefined;
  /**
   * Whether it was created, deleted or is valid, as requested; `undefined` if the response does not
   * say.
   */
  readonly passed: boolean | undefined;
  /** In the service's words. */
  readonly reason: string | undefined;
}

/**
 * The verdicts in the body of a response. The service documents no body for adding and deleting, only
 * the status, so an empty body, or one that is not about rules, has no verdicts.
 */
export function ruleVerdicts(
  body: string,
  flag: 'created' | 'deleted' | 'valid',
): readonly RuleVerdict[] {
  try {
    return new Fields(parseExact(body), 'one about rules', '').objects('detail').map(entry => {
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
