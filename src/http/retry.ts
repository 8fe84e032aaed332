import { ConnectionError, HttpError, MillraceError, OptionError } from '../errors.js';
import { MINUTE, SECOND } from '../time.js';
import { checkMilliseconds } from './timeouts.js';
import type { Timing } from './timing.js';

/** Times are in milliseconds. */
export interface RetryPolicy {
  /** Tries of one request in all; 1 is no retry. */
  readonly attempts: number;
  /** Tries to make a connection that was never made: a service that is not there stays away. */
  readonly connects: number;
  /** The longest first wait; it doubles with each try. A wait is drawn from half of it up to all of it. */
  readonly firstWait: number;
  /** Where the doubling ends. */
  readonly longestWait: number;
  /** The longest `Retry-After` that is honoured; a longer one is an error at once. */
  readonly longestRetryAfter: number;
  /** No try starts later than this after the first. */
  readonly total: number;
}

const DEFAULTS: RetryPolicy = {
  attempts: 10,
  connects: 4,
  firstWait: SECOND,
  longestWait: 32 * SECOND,
  longestRetryAfter: 15 * MINUTE,
  total: 20 * MINUTE,
};

/** What is about to be retried, and why. */
export interface Retrying {
  readonly error: MillraceError;
  /** Tries so far. */
  readonly attempts: number;
  /** Until the next try, in milliseconds. */
  readonly waitMs: number;
}

export interface RetryRun {
  readonly policy: RetryPolicy;
  readonly timing: Timing;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((retrying: Retrying) => void) | undefined;
}

export function checkRetryPolicy(options: Partial<RetryPolicy> = {}): RetryPolicy {
  const policy: { -readonly [Name in keyof RetryPolicy]: number } = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof RetryPolicy)[]) {
    const value = options[name];
    if (value === undefined) continue;
    const option = `retry.${name}`;
    if (name !== 'attempts' && name !== 'connects') checkMilliseconds(option, value, 0);
    else if (!Number.isSafeInteger(value) || value < 1)
      throw new OptionError(option, `Expected \`${option}\` to be a whole number of at least 1`);
    policy[name] = value;
  }
  return policy;
}

/**
 * Tries until it succeeds: after server errors, rate limits and broken connections, with exponential
 * backoff and jitter, within the bounds of the policy. Anything else is thrown at once.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  { policy, timing, signal, onRetry }: RetryRun,
): Promise<T> {
  const started = timing.elapsed();
  for (let attempts = 1; ; attempts++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MillraceError) || !error.retryable) throw error;
      const waitMs = waitAfter(error, attempts, policy, timing);
      const spent = timing.elapsed() - started;
      if (waitMs === undefined || spent + waitMs > policy.total) throw error;
      onRetry?.({ error, attempts, waitMs });
      await timing.sleep(waitMs, signal);
    }
  }
}

/** `undefined` when it is time to give up. */
function waitAfter(
  error: MillraceError,
  attempts: number,
  policy: RetryPolicy,
  { random }: Timing,
): number | undefined {
  const refused = error instanceof ConnectionError && error.failure === 'refused';
  if (attempts >= (refused ? Math.min(policy.connects, policy.attempts) : policy.attempts))
    return undefined;
  const longest = Math.min(policy.longestWait, policy.firstWait * 2 ** (attempts - 1));
  // At least half: a wait drawn from 0 up may be of 3 ms, and a service that fails needs its pause.
  const backoff = longest * (0.5 + random() / 2);
  if (!(error instanceof HttpError) || error.retryAfterMs === undefined) return backoff;
  if (error.retryAfterMs > policy.longestRetryAfter) return undefined;
  // On top of what was asked for, or all who were told the same come back at the same moment.
  return error.retryAfterMs + Math.min(backoff, SECOND);
}
