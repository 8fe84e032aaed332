import { OptionError } from '../errors.js';
import { Account } from './account.js';

/** An address below one of the account's. `path` begins without a slash. */
export function serviceUrl(
  account: Account,
  setting: 'accountApiUrl' | 'oauthUrl' | 'dataUrl',
  purpose: string,
  path: string,
): URL {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  const url = new URL(account.need(setting, purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  return url;
}
