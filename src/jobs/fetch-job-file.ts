import { ConnectionError, DataError, HttpError } from '../errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { sendRequest } from '../http/request.js';
import { protect } from '../secret.js';
import type { JobFile, JobFileAddress, JobFileList } from './job-file-list.js';

/** Attempts for one file, including the first. */
const MAX_ATTEMPTS = 5;

/** After this many failed files in a row a download gives up: the others would fail as well. */
export const MAX_FAILED_IN_A_ROW = 8;

/** Shorter parts of a query, such as a version, are not signatures. */
const MIN_SIGNED = 6;

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
  { url, listing }: JobFileAddress,
  { account, list, signal }: FetchRun,
  read: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
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
    const { message, ...details } = withoutAdvice(cause);
    throw new HttpError(message, { ...details, retryable: stale || cause.retryable });
  }
}

/** Retries what requests a file a few times: after broken connections, damaged files and expired addresses. */
export function retryJobFile<T>(
  file: JobFile,
  { account, list, signal }: FetchRun,
  attempt: (address: JobFileAddress) => Promise<T>,
): Promise<T> {
  const { retry } = account;
  const attempts = Math.min(retry.attempts, MAX_ATTEMPTS);
  const protectedAttempt = async () => {
    const address = list.addressOf(file);
    // A signature gives access to the file. The response may echo it, and so may what is stored as the file.
    const parts = [...address.url.searchParams.values()].filter(
      ({ length }) => length >= MIN_SIGNED,
    );
    const release = protect(...parts);
    try {
      return await attempt(address);
    } finally {
      release();
    }
  };
  return account.retryCall(protectedAttempt, signal, { ...retry, attempts });
}

/** Whether the error is about one file, so that the others may still succeed. */
export function isFileError(error: unknown): error is HttpError | DataError | ConnectionError {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  return error instanceof HttpError || error instanceof DataError;
}

/** Advice about logins and addresses of the account is not about the address of a file. */
function withoutAdvice({ status, method, url, body, retryAfterMs }: HttpError) {
  const message = `${method} ${url} answered ${status}${body === '' ? '' : `: ${body}`}`;
  return { message, status, method, url, body, retryAfterMs };
}
