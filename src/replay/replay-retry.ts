import { HttpError, MillraceError, StorageError } from '../errors.js';
import { isFinalStatus } from '../http/live-connection.js';
import { backoffMs } from '../http/timing.js';
import type { ReplayTimings } from './replay-timings.js';

/** What a failed connection of a replay means for the next one; `fatal` ends the replay. */
export type ConnectFailure = 'fatal' | 'dates refused' | 'rate limited' | 'refused';

/** @param maxRetryAfterMs the longest `Retry-After` to wait for */
export function connectFailure(error: unknown, maxRetryAfterMs: number): ConnectFailure {
  // Connecting again does not help a full disk.
  if (!(error instanceof MillraceError) || error instanceof StorageError) return 'fatal';
  if (!(error instanceof HttpError)) return error.retryable ? 'refused' : 'fatal';
  if (isFinalStatus(error) || (error.retryAfterMs ?? 0) > maxRetryAfterMs) return 'fatal';
  // Somebody may add rules at any time. But the response says what is missing, and each retry uses up a connection.
  if (error.status === 406 && /\bno rules\b/i.test(error.body)) return 'fatal';
  if (namesDates(error)) return 'dates refused';
  return error.status === 429 ? 'rate limited' : 'refused';
}

/** Whether the service refuses the dates: it names the parameter. */
function namesDates(error: unknown): boolean {
  return (
    error instanceof HttpError &&
    (error.status === 406 || error.status === 400) &&
    /\b(fromDate|toDate)\b/.test(error.body)
  );
}

/**
 * Decides how long a replay waits after a failure, and when it gives up. No I/O and no clock: `now` is
 * in epoch milliseconds, `random` from 0 up to 1.
 */
export class ReplayRetry {
  readonly #timings: ReplayTimings;
  /** Connections in a row that got no final message. */
  #failedConnects = 0;
  #notBefore = 0;

  constructor(timings: ReplayTimings) {
    this.#timings = timings;
  }

  get givesUp(): boolean {
    return this.#failedConnects >= this.#timings.attempts;
  }

  waitMs(now: number): number {
    return Math.max(0, this.#notBefore - now);
  }

  /** A failure that other dates may solve: no wait. */
  datesRefused(): void {
    this.#failedConnects++;
  }

  /** A 429. */
  rateLimited(now: number, retryAfterMs: number | undefined): void {
    this.#failedConnects++;
    this.#notBefore = now + (retryAfterMs ?? this.#timings.rateLimitWaitMs);
  }

  /** No connection, or a response such as 503. */
  refused(now: number, random: number, retryAfterMs = 0): void {
    this.#failedConnects++;
    this.backOff(now, random, this.#failedConnects, retryAfterMs);
  }

  /** A connection that ended without a final message. The first in a row is followed by no wait. */
  cut(now: number, random: number): void {
    this.#failedConnects++;
    this.backOff(now, random, this.#failedConnects - 1);
  }

  /** The service sent its final message: the counts of each range limit the retries from here on. */
  responded(): void {
    this.#failedConnects = 0;
  }

  /** Minutes were confirmed. */
  confirmed(): void {
    this.#notBefore = 0;
  }

  /** Waits before the same minutes are requested after `failures` in a row. */
  backOff(now: number, random: number, failures: number, minMs = 0): void {
    const { firstWaitMs: firstMs, maxWaitMs: maxMs } = this.#timings;
    const waitMs = failures === 0 ? 0 : backoffMs(failures, { firstMs, maxMs, random });
    this.#notBefore = now + Math.max(minMs, waitMs);
  }
}
