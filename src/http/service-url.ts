import { OptionError } from '../errors.js';
import { Account } from './account.js';
import type { SettingName } from './settings.js';

/** An address below one of the account's. `path` begins without a slash; `others` are needed, too. */
export function serviceUrl(
  account: Account,
  setting: 'accountApiUrl' | 'oauthUrl' | 'dataUrl',
  purpose: string,
  path: string,
  others: readonly SettingName[] = [],
): URL {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  account.needAll([setting, ...others], purpose);
  const url = new URL(account.need(setting, purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  return url;
}
