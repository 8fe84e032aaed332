import { OptionError } from '../errors.js';
import { Account } from './account.js';

/** Which stream's rules, and how long the call may take. */
export interface ReplayRulesOptions {
  /** @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An address of the rules of a replay stream (service.md 4.4); `rest` is what follows the label. */
export function replayRulesUrl(
  account: Account,
  { streamLabel }: ReplayRulesOptions,
  rest = '.json',
): URL {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  const purpose = 'replay rules';
  for (const secret of ['email', 'password'] as const) account.need(secret, purpose);
  const [rulestream, name, publisher] = (['rulestream', 'account', 'publisher'] as const).map(
    setting => encodeURIComponent(account.need(setting, purpose)),
  );
  const label = encodeURIComponent(streamLabel ?? account.need('streamLabel', purpose));
  const url = new URL(account.need('rulesUrl', purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/rules/${rulestream}-replay/accounts/${name}/publishers/${publisher}/${label}${rest}`;
  return url;
}
