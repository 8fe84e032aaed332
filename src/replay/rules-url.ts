import { OptionError } from '../errors.js';
import { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { checkLabel } from '../http/stream-address.js';

/** Which stream's rules, and how long the call may take. */
export interface ReplayRulesOptions {
  /** @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: readonly string[] = ['streamLabel', 'signal'];

/** An address of the rules of a replay stream (service.md 4.4); `rest` is what follows the label. */
export function replayRulesUrl(account: Account, options: ReplayRulesOptions, rest = '.json'): URL {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  checkNames('options', options, OPTIONS);
  const purpose = 'replay rules';
  const labelled = options.streamLabel === undefined ? (['streamLabel'] as const) : [];
  account.needAll(['rulesUrl', ...labelled, 'account', 'publisher', 'email', 'password'], purpose);
  const [rulestream, name, publisher] = (['rulestream', 'account', 'publisher'] as const).map(
    setting => encodeURIComponent(account.need(setting, purpose)),
  );
  const label = checkLabel(
    'streamLabel',
    options.streamLabel ?? account.need('streamLabel', purpose),
  );
  const url = new URL(account.need('rulesUrl', purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/rules/${rulestream}-replay/accounts/${name}/publishers/${publisher}/${label}${rest}`;
  return url;
}
