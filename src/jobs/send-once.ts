import { ConnectionError, HttpError, MillraceError } from '../errors.js';
import type { Account } from '../http/account.js';

/**
 * Sends a request that must not be carried out twice, with the account's retries. After an attempt with
 * an unknown outcome, `findResult` looks for its result before the next attempt, and before a refusal
 * is thrown: the first attempt may be the reason for the refusal.
 */
export function sendOnce<T>(
  account: Account,
  send: () => Promise<T>,
  findResult: () => Promise<T | undefined>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let outcomeUnknown = false;
  const attempt = async () => {
    const found = outcomeUnknown ? await findResult() : undefined;
    if (found !== undefined) return found;
    try {
      return await send();
    } catch (error) {
      const refused = error instanceof HttpError && error.status < 500;
      if (refused && outcomeUnknown) {
        const late = await findResult();
        if (late !== undefined) return late;
      }
      outcomeUnknown ||= isOutcomeUnknown(error);
      throw error;
    }
  };
  return account.retryCall(attempt, signal);
}

/** Whether the service may have carried out a request that failed. */
function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  if (error instanceof HttpError) return error.status >= 500;
  return error instanceof MillraceError;
}
