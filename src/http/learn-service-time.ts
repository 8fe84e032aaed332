import type { Account } from './account.js';
import { sendRequest } from './request.js';
import { retry } from './retry.js';
import type { UrlSettingName } from './settings.js';

/**
 * Sets the account's clock by the service, before a run computes its window: this machine's clock may be off, and a
 * window that it decides would miss minutes or report gaps that there are not. Any response has the `Date`, so it asks for
 * the head of the base address, without credentials: that costs nothing and counts against no limit.
 *
 * @param responses `clock.responses` when the run began: a response since then has set the clock.
 * @throws ConnectionError, or the signal's reason.
 */
export async function learnServiceTime(
  account: Account,
  base: UrlSettingName,
  { responses, signal }: { readonly responses: number; readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = account;
  if (clock.isKnownSince(responses)) return;
  const url = account.need(base, 'the time of the service');
  const ask = async () => {
    try {
      const authorize = () => undefined;
      (await sendRequest(account, { method: 'HEAD', url, signal, authorize })).close();
    } catch (error) {
      // A refusal has the time, too.
      if (!clock.isKnownSince(responses)) throw error;
    }
  };
  await retry(account, ask, signal);
}
