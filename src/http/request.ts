import type { Account } from './account.js';
import type { HttpRequest, HttpResponse } from './http-message.js';
import type { Family } from './rate-limits.js';
import { sendRequest } from './send-request.js';

export interface AccountRequest extends HttpRequest {
  /** The family whose rate limits it counts against, and its kind within the family. */
  readonly family: Family;
  readonly kind?: string | undefined;
  /** Sends it once, without a retry: it may take effect although no response comes. */
  readonly once?: boolean | undefined;
}

/**
 * Sends a request within the account's rate limits, with retries, and resolves to what `read` returns for
 * the response. A body that breaks off is retried like a request that failed, so `read` must have no effects
 * before the end of the body. The connection is released or closed afterwards.
 *
 * @throws HttpError, ConnectionError, what `read` throws, or the signal's reason.
 */
export function request<T>(
  account: Account,
  call: AccountRequest,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  const { signal } = call;
  if (call.once === true) return attempt(account, call, read);
  return account.retryCall(() => attempt(account, call, read), signal);
}

async function attempt<T>(
  account: Account,
  call: AccountRequest,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  const permit = await account.acquire(call.family, call.url, call.signal, call.kind);
  const response = await sendRequest(account, { ...call, permit });
  try {
    return await read(response);
  } finally {
    response.close();
  }
}
