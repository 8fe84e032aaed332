import type { Account } from '../http/account.js';
import { checkSilence } from '../http/live-connection.js';
import { serviceUrl } from '../http/service-url.js';

/** The address of the compliance stream, or of one partition of it. */
export function complianceUrl(
  account: Account,
  complianceLabel: string | undefined,
  partition: number | undefined,
): URL {
  const path =
    'accounts/{account}/publishers/{publisher}/streams/compliance/{complianceLabel}.json';
  checkSilence(account, 'the compliance stream');
  const url = serviceUrl(account, 'complianceStreamUrl', path, {
    purpose: 'the compliance stream',
    given: { complianceLabel },
    needs: ['email', 'password'],
  });
  if (partition !== undefined) url.searchParams.set('partition', String(partition));
  return url;
}
