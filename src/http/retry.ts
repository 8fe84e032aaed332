import { answerOf } from '../base/abortable.js';
import { milliseconds, type OptionTable, whole } from '../base/check.js';
import { ConnectionError, HttpError, MillraceError } from '../base/errors.js';
import { MINUTE, SECOND } from '../base/time.js';
import type { Wait } from '../base/wait.js';
import { backoffMs } from '../base/wait.js';
import type { Timing } from './timing.js';

/** How often, and for how long, a request is retried. */
export interface RetryPolicy {
  /** The maximum number of tries for one request, including the first. 1 means no retries. @default 10 */
  readonly attempts: number;
  /** The maximum number of tries to open a connection. @default 4 */
  readonly connects: number;
  /**
   * The longest wait before the first retry, in milliseconds. The longest wait doubles with each try. Each
   * actual wait is random, from half of the longest wait to all of it.
   * @default 1_000
   */
  readonly firstWaitMs: number;
  /** The longest wait between two tries, in milliseconds. @default 32_000 */
  readonly maxWaitMs: number;
  /**
   * The longest `Retry-After` that is waited for, in milliseconds. If the service asks for more, the call
   * fails. @default 900_000
   */
  readonly maxRetryAfterMs: number;
  /**
   * The maximum time from the start of the first try to the start of the last try, in milliseconds. @default
   * 1_200_000
   */
  readonly totalMs: number;
}

export const RETRY = {
  attempts: whole('tries of one request in all', { min: 1, default: 10 }),
  connects: whole('tries to make a connection', { min: 1, default: 4 }),
  firstWaitMs: milliseconds('the longest first wait', { min: 0, default: SECOND }),
  maxWaitMs: milliseconds('the longest wait between two tries', { min: 0, default: 32 * SECOND }),
  maxRetryAfterMs: milliseconds('the longest `Retry-After` to wait for', {
    min: 0,
    default: 15 * MINUTE,
  }),
  totalMs: milliseconds('no try starts later than this', { min: 0, default: 20 * MINUTE }),
} satisfies OptionTable<Partial<RetryPolicy>>;

/** Describes the next retry, and the error that caused it. */
export interface Retrying {
  readonly error: MillraceError;
  /** The number of tries so far. */
  readonly attempts: number;
  /** The time until the next try, in milliseconds. */
  readonly waitMs: number;
}

export interface RetryAccount {
  readonly retry: RetryPolicy;
  readonly timing: Timing;
  onRetry(retrying: Retrying): unknown;
  /** Called before the wait for a retry. Returns a function that must be called when the wait ends. */
  beginWait(wait: Omit<Wait, 'until'>): () => void;
}

/**
 * Calls a function until it succeeds. Retries after server errors, rate limits and broken connections, with
 * exponential backoff and jitter, within the limits of the policy. Throws any other error immediately.
 */
export async function retry<T>(
  account: RetryAccount,
  attempt: () => Promise<T>,
  signal: AbortSignal | undefined,
  policy: RetryPolicy = account.retry,
): Promise<T> {
  const { timing } = account;
  const started = timing.elapsed();
  for (let attempts = 1; ; attempts++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MillraceError) || !error.retryable) throw error;
      const waitMs = waitAfter(error, attempts, policy, timing);
      const spent = timing.elapsed() - started;
      if (waitMs === undefined || spent + waitMs > policy.totalMs) throw error;
      await waitForRetry(account, { error, attempts, waitMs }, signal);
    }
  }
}

/** Calls `onRetry`, then waits until the retry is due. If `onRetry` fails, rejects with the same error. */
export async function waitForRetry(
  account: RetryAccount,
  retrying: Retrying,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { error, attempts, waitMs } = retrying;
  await answerOf(account.onRetry(retrying), signal);
  const end = account.beginWait({ reason: 'retry', waitMs, error, retry: attempts });
  await account.timing.sleep(waitMs, signal).finally(end);
}

function waitAfter(
  error: MillraceError,
  attempts: number,
  policy: RetryPolicy,
  { random }: Timing,
): number | undefined {
  const refused = error instanceof ConnectionError && error.failure === 'refused';
  if (attempts >= (refused ? Math.min(policy.connects, policy.attempts) : policy.attempts))
    return undefined;
  const { firstWaitMs: firstMs, maxWaitMs: maxMs } = policy;
  const backoff = backoffMs(attempts, { firstMs, maxMs, random: random() });
  if (!(error instanceof HttpError) || error.retryAfterMs === undefined) return backoff;
  if (error.retryAfterMs > policy.maxRetryAfterMs) return undefined;
  // Adds some jitter to the requested wait. Otherwise, all clients that received the same `Retry-After` would
  // retry at the same time.
  return error.retryAfterMs + Math.min(backoff, SECOND);
}

/**
 * The longest `Retry-After` in seconds, about 68 years. A larger number counts as this one, as in RFC 9111
 * section 1.2.2.
 */
const MAX_RETRY_AFTER = 2 ** 31;
/**
 * Matches the format of HTTP dates. Without this check, `Date.parse` would read `-5` as a day in May 2001.
 */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .* GMT$/;

/**
 * Converts a `Retry-After` to milliseconds. Its value is a number of seconds or a date. A date is compared
 * with the `Date` of the same response, so that it does not matter if this machine's clock is wrong. Returns
 * `undefined` for an invalid value, and for a value that requires no wait, such as 0 or a date in the past.
 * The usual backoff then applies.
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  now: number,
): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), MAX_RETRY_AFTER) * 1000 || undefined;
  const until = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  const sent = Date.parse(date ?? '');
  const waitMs = until - (Number.isNaN(sent) ? now : sent);
  return waitMs > 0 ? waitMs : undefined;
}
