import { ConnectionError, DataError, HttpError } from '../errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { redactor, Secret } from '../http/secret.js';
import { sendRequest } from '../http/send-request.js';
import type { JobFile, JobFileList } from './job-file-list.js';

/** Attempts for one file, including the first. */
const MAX_ATTEMPTS = 5;

/** The statuses of an address that has expired, or whose file does not exist. */
const STALE_STATUSES: readonly number[] = [400, 401, 403, 404, 410];

export interface FetchRun {
  readonly account: Account;
  readonly list: JobFileList;
  readonly signal: AbortSignal;
}

/**
 * Requests a file of a job once, and resolves to the result of `read`. If its address has expired, the
 * addresses are listed again before the error. Sends no credentials: the address has a signature, which
 * the errors leave out.
 */
export async function requestJobFile<T>(
  file: JobFile,
  { account, list, signal }: FetchRun,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
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
    const stale = STALE_STATUSES.includes(cause.status);
    if (stale) await list.renew(listing, signal);
    throw withoutSignature(cause, url, stale || cause.retryable);
  }
}

/** Retries what requests a file a few times: after broken connections, damaged files and expired addresses. */
export function retryJobFile<T>(
  { account, signal }: FetchRun,
  attempt: () => Promise<T>,
): Promise<T> {
  const { retry } = account;
  const attempts = Math.min(retry.attempts, MAX_ATTEMPTS);
  return account.retryCall(attempt, signal, { ...retry, attempts });
}

/** Whether the error is about one file, so that the others may still succeed. */
export function isFileError(error: unknown): error is HttpError | DataError | ConnectionError {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  return error instanceof HttpError || error instanceof DataError;
}

/** The same error without the signature, which the response may echo. */
function withoutSignature(
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
