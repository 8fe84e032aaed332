import { setMaxListeners } from 'node:events';
import pLimit, { type LimitFunction } from 'p-limit';
import { LinkedAbort } from '../base/abortable.js';
import { ConnectionError, DataError, HttpError } from '../base/errors.js';
import { protect } from '../base/secret.js';
import { workAhead } from '../flow/read-ahead.js';
import type { HttpResponse } from '../http/http-message.js';
import { sendRequest } from '../http/request.js';
import { retry } from '../http/retry.js';
import type { JobFile, JobFileList } from './job-file-list.js';

const MAX_ATTEMPTS = 5;

/**
 * A download gives up after this many consecutive files have failed, because the remaining files would
 * probably fail as well.
 */
const MAX_FAILED_IN_A_ROW = 8;

/**
 * Query values of a file's URL that have at least this many characters are removed from errors, because they
 * may be part of the signature. Shorter values, such as a version number, are not secret.
 */
const MIN_SIGNED = 6;

/** The HTTP statuses of the response if the URL of a file has expired, or the file does not exist. */
const STALE_STATUSES: readonly number[] = [400, 401, 403, 404, 410];

export type Fetched<T> =
  | { readonly file: JobFile; readonly made: T }
  | { readonly file: JobFile; readonly error: Error };

interface Fetching<T> {
  readonly signal: AbortSignal;
  readonly concurrency: number;
  /**
   * How many fetched files may wait for an earlier file, because outcomes are yielded in order. Does not
   * include the files that are being fetched.
   */
  readonly ahead: number;
  /** Fetches one file. The signal is aborted when fetching ends for all files. */
  readonly fetch: (file: JobFile, limit: LimitFunction, signal: AbortSignal) => Promise<T>;
}

/**
 * Fetches `files` concurrently, and yields the outcome of each file in order. Then retries the files in
 * `failedBefore` (the files that failed in an earlier run), and the files that have just failed. When the
 * generator has ended, for any reason, no fetch is running.
 *
 * @throws An error that concerns all files. If many consecutive files have failed, throws the error of the
 *   last file.
 */
export async function* fetchJobFiles<T>(
  files: readonly JobFile[],
  failedBefore: readonly JobFile[],
  { signal, concurrency, ahead, fetch }: Fetching<T>,
): AsyncGenerator<Fetched<T>, void, undefined> {
  const abort = new LinkedAbort(signal);
  // Each file adds a listener to the signal. Without this call, Node would warn of a memory leak.
  setMaxListeners(0, abort.signal);
  const limit = pLimit({ concurrency, rejectOnClear: true });
  const running = new Set<Promise<unknown>>();
  const tryFile = async (file: JobFile): Promise<Fetched<T>> => {
    const made = fetch(file, limit, abort.signal);
    running.add(made);
    try {
      return { file, made: await made };
    } catch (error) {
      if (abort.signal.aborted || !isFileError(error)) throw error;
      return { file, error };
    } finally {
      running.delete(made);
    }
  };
  const failed = [...failedBefore];
  const pass = async function* (tried: readonly JobFile[]) {
    let failures = 0;
    for await (const { result } of workAhead(tried, tryFile, concurrency + ahead)) {
      const fetched = result as Fetched<T>;
      const hasFailed = 'error' in fetched;
      failures = hasFailed ? failures + 1 : 0;
      if (hasFailed) failed.push(fetched.file);
      yield fetched;
      if (hasFailed && failures === MAX_FAILED_IN_A_ROW) throw fetched.error;
    }
  };
  try {
    yield* pass(files);
    yield* pass([...failed]);
  } finally {
    limit.clearQueue();
    abort.abort();
    await Promise.allSettled(running);
    abort.unlink();
  }
}

type RequestFile = <R>(read: (answer: HttpResponse) => Promise<R>) => Promise<R>;

/**
 * Calls a function that requests a file. Retries a few times after broken connections and damaged files. If
 * the URL of the file has expired, reads a new URL before the next try. Sends no credentials, because the URL
 * has a signature. Errors do not show the signature.
 */
export function retryJobFile<T>(
  file: JobFile,
  list: JobFileList,
  signal: AbortSignal,
  attempt: (request: RequestFile) => Promise<T>,
): Promise<T> {
  const { account } = list;
  const attempts = Math.min(account.retry.attempts, MAX_ATTEMPTS);
  const protectedAttempt = async () => {
    const url = list.addressOf(file);
    // A signature gives access to the file, so it is removed from errors. The response and even the contents
    // of the file may echo it.
    const parts = [...url.searchParams.values()].filter(({ length }) => length >= MIN_SIGNED);
    const release = protect(...parts);
    try {
      return await attempt(async read => {
        const call = { method: 'GET', url, isSignedUrl: true, signal } as const;
        const answer = await sendRequest(account, call);
        return read(answer).finally(() => answer.close());
      });
    } catch (cause) {
      if (!(cause instanceof HttpError)) throw cause;
      const stale = STALE_STATUSES.includes(cause.status);
      if (stale) await list.renew(file, url, signal);
      const { status, body, retryable } = cause;
      // The message of `cause` may give advice about the account's login and addresses. The advice does not
      // apply to the URL of a file, so it is removed from the message.
      const message = `GET ${cause.url} answered ${status}${body === '' ? '' : `: ${body}`}`;
      throw new HttpError(message, { ...cause, retryable: stale || retryable });
    } finally {
      release();
    }
  };
  return retry(account, protectedAttempt, signal, { ...account.retry, attempts });
}

/** Whether an error concerns only one file, so that other files may still succeed. */
export function isFileError(error: unknown): error is HttpError | DataError | ConnectionError {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  return error instanceof HttpError || error instanceof DataError;
}
