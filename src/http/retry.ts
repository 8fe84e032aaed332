import { answerOf } from '../base/abortable.js';
import { milliseconds, type OptionTable, whole } from '../base/check.js';
import { ConnectionError, HttpError, MillraceError } from '../base/errors.js';
import { MINUTE, SECOND } from '../base/time.js';
import type { Wait } from '../base/wait.js';
import { backoffMs } from '../base/wait.js';
import type { Timing } from './timing.js';

/** How often and how long a request is retried. */
export interface RetryPolicy {
  /** Tries of one request in all; 1 never retries. @default 10 */
  readonly attempts: number;
  /** Tries to make a connection, where none could be made. @default 4 */
  readonly connects: number;
  /**
   * The longest first wait, in milliseconds; it doubles with each try. Each wait is random, from half of
   * this up.
   * @default 1_000
   */
  readonly firstWaitMs: number;
  /** The longest wait between two tries, in milliseconds. @default 32_000 */
  readonly maxWaitMs: number;
  /** The longest `Retry-After` to wait for, in milliseconds; a longer one is an error. @default 900_000 */
  readonly maxRetryAfterMs: number;
  /** No try starts later than this after the first, in milliseconds. @default 1_200_000 */
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

/** What is about to be retried, and why. */
export interface Retrying {
  readonly error: MillraceError;
  /** Tries so far. */
  readonly attempts: number;
  /** Until the next try, in milliseconds. */
  readonly waitMs: number;
}

/** What an account has for retries. */
export interface RetryAccount {
  readonly retry: RetryPolicy;
  readonly timing: Timing;
  onRetry(retrying: Retrying): unknown;
  /** Called before the wait for a retry; its result is called when the wait ends. */
  beginWait(wait: Omit<Wait, 'until'>): () => void;
}

/**
 * Tries until it succeeds: after server errors, rate limits and broken connections, with exponential
 * backoff and jitter, within the bounds of the policy. Any other error is thrown immediately.
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

/** Reports a retry, and waits until it is due. What `onRetry` throws or rejects with ends the call. */
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

/** Milliseconds to wait before the next try; `undefined` after the last one. */
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
  // Added to the requested wait, or all clients that got the same `Retry-After` come back at the same time.
  return error.retryAfterMs + Math.min(backoff, SECOND);
}

/** The longest `Retry-After` in seconds, 68 years: HTTP treats larger numbers as an overflow. */
const MAX_RETRY_AFTER = 2 ** 31;
/** The format of HTTP dates. `Date.parse` alone reads `-5` as a day of May 2001. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .* GMT$/;

/**
 * Milliseconds of a `Retry-After`, in seconds or as a date. A date is compared with the response's own `Date`, so that
 * a wrong clock on either side does not matter. `undefined` for a value that asks for no wait, such as 0 or a date in
 * the past, and for a value that is neither a number nor a date: the usual backoff applies.
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
