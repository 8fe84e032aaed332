import type { Account } from './account.js';
import type { HttpRequest, HttpResponse } from './http-message.js';
import type { Family } from './rate-limits.js';
import { retry } from './retry.js';
import { sendRequest } from './send-request.js';

export interface AccountRequest extends HttpRequest {
  /** Whose limits of service.md section 8 it counts against, and as which kind. */
  readonly family: Family;
  readonly kind?: string | undefined;
  /** Tries it once: it may have worked although no answer came, and must not work twice. */
  readonly once?: boolean | undefined;
}

/**
 * Sends a request, keeping to the account's limits and retrying what may pass, and resolves to what
 * `read` makes of the answer. A body that breaks off while it is read is retried like a request that
 * failed, so `read` must hand nothing out before it has all. The connection is free or closed after.
 *
 * @throws HttpError, ConnectionError, what `read` throws, or the signal's reason.
 */
export function request<T>(
  account: Account,
  call: AccountRequest,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
  const { signal } = call;
  if (call.once === true) return once(account, call, read);
  const { retry: policy, timing, onRetry } = account;
  return retry(() => once(account, call, read), { policy, timing, signal, onRetry });
}

async function once<T>(
  account: Account,
  call: AccountRequest,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
  const start = await account.rateLimiter(call.family, call.url).acquire(call.kind, call.signal);
  try {
    const answer = await sendRequest(account, call).finally(() => start.responded());
    try {
      return await read(answer);
    } finally {
      answer.close();
    }
  } catch (error) {
    if (!call.signal?.aborted) redactError(account, call, error);
    throw error;
  }
}

/** An answer may echo what it was sent, and an error may quote the answer. */
function redactError(account: Account, { secrets }: AccountRequest, error: unknown): void {
  for (let at = error; at instanceof Error; at = at.cause) {
    at.message = account.redact(at.message, secrets);
    at.stack = account.redact(at.stack ?? '', secrets);
  }
}
