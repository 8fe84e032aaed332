import { ConnectionError, DataError, HttpError } from '../errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { retry } from '../http/retry.js';
import { redactor, Secret } from '../http/secret.js';
import { sendRequest } from '../http/send-request.js';
import type { JobFile, JobFileList } from './job-file-list.js';

/** Tries of one file, the first among them. */
const ATTEMPTS = 5;

/** What a signed address answers once it has expired, or when its file is not (or no longer) there. */
const STALE: readonly number[] = [400, 401, 403, 404, 410];

export interface FetchRun {
  readonly account: Account;
  readonly list: JobFileList;
  readonly signal: AbortSignal;
}

/**
 * Requests a file of a job and resolves to what `read` makes of it. Whatever may pass is tried again a
 * few times: broken connections, damage, and addresses that have expired, after new ones were listed.
 * No credentials are sent (service.md 2.6: the addresses are their own), and none are in the errors.
 */
export function fetchJobFile<T>(
  file: JobFile,
  { account, list, signal }: FetchRun,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
  const { retry: policy, timing, onRetry } = account;
  const attempt = async () => {
    const { url, listing } = list.addressOf(file);
    try {
      const answer = await sendRequest(account, { method: 'GET', url, isSignedUrl: true, signal });
      try {
        return await read(answer);
      } finally {
        answer.close();
      }
    } catch (cause) {
      if (!(cause instanceof HttpError)) throw cause;
      const stale = STALE.includes(cause.status);
      if (stale) await list.renew(listing, signal);
      throw shownError(cause, url, stale || cause.retryable);
    }
  };
  const attempts = Math.min(policy.attempts, ATTEMPTS);
  return retry(attempt, { policy: { ...policy, attempts }, timing, signal, onRetry });
}

/** Whether only this file is to blame, so that the others may still be had. */
export function isFileError(error: unknown): error is HttpError | DataError | ConnectionError {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  return error instanceof HttpError || error instanceof DataError;
}

/** An answer may echo the signature that it was sent. */
function shownError(
  { status, method, url, body, retryAfterMs }: HttpError,
  sent: URL,
  retryable: boolean,
) {
  const secrets = [...sent.searchParams.values()].filter(value => value.length >= 6);
  const shown = redactor(
    undefined,
    secrets.map(value => new Secret(value)),
  )(body);
  const message = `${method} ${url} answered ${status}${shown === '' ? '' : `: ${shown}`}`;
  return new HttpError(message, { status, method, url, body: shown, retryAfterMs, retryable });
}
