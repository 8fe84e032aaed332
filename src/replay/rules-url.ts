import { type Account, checkAccount } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { serviceUrl } from '../http/service-url.js';

/** Which stream's rules, and how long the call may take. */
export interface ReplayRulesOptions {
  /** @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: readonly string[] = ['streamLabel', 'signal'];

/** An address of the rules of a replay stream; `rest` is what follows the label. */
export function replayRulesUrl(account: Account, options: ReplayRulesOptions, rest = '.json'): URL {
  checkAccount(account);
  checkNames('options', options, OPTIONS);
  const path = 'rules/{rulestream}-replay/accounts/{account}/publishers/{publisher}/{streamLabel}';
  return serviceUrl(account, 'rulesUrl', `${path}${rest}`, {
    purpose: 'replay rules',
    given: { streamLabel: options.streamLabel },
    needs: ['email', 'password'],
  });
}
