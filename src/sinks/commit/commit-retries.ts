import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError, StorageError } from '../../base/errors.js';
import { backoffMs, type OnWait } from '../../base/wait.js';

export interface RetryOptions {
  readonly name: string;
  readonly retries: number;
  readonly retryWaitMs: number;
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
}

export interface RetryRun {
  /** The signal fires when the run must end. */
  readonly signal: AbortSignal;
  readonly onWait: OnWait | undefined;
}

const MAX_WAIT_MS = 30_000;

/** Decides which failed commits are retried and when, and which error ends the run. */
export class CommitRetries {
  readonly max: number;
  readonly #options: RetryOptions;
  readonly #run: RetryRun;

  constructor(options: RetryOptions, run: RetryRun) {
    this.max = options.retries;
    this.#options = options;
    this.#run = run;
  }

  isRetryable(error: unknown): boolean {
    if (this.#run.signal.aborted) return false;
    if (error instanceof MillraceError) return error.retryable;
    return this.#options.isRetryable?.(error) ?? mayBePassing(error);
  }

  async pause(failures: number, error: unknown): Promise<void> {
    const { signal, onWait } = this.#run;
    const waitMs = backoffMs(failures, {
      firstMs: this.#options.retryWaitMs,
      maxMs: MAX_WAIT_MS,
      random: Math.random(),
    });
    const failure = this.failure('commit to', error);
    const end = onWait?.({
      reason: 'retry',
      waitMs,
      retry: failures,
      until: new Date(Date.now() + waitMs),
      error: failure instanceof MillraceError ? failure : undefined,
    });
    try {
      await delay(waitMs, undefined, { signal });
    } catch {
      signal.throwIfAborted();
    } finally {
      end?.();
    }
  }

  /**
   * Adds advice to an error that the caller's functions have thrown. Returns errors of Millrace and
   * programming errors unchanged. If the run was aborted, returns the reason of the abort instead.
   */
  failure(doing: string, error: unknown): unknown {
    const { signal } = this.#run;
    if (signal.aborted) return signal.reason;
    if (error instanceof MillraceError || isMistake(error)) return error;
    const { name } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    return new StorageError(
      `Could not ${doing} ${name}: ${reason}. See the cause, then run the same again: it continues after the last commit`,
      { path: name, cause: error, retryable: true },
    );
  }
}

/**
 * Returns whether an error is a programming error. A `TypeError` with a cause is not a programming error,
 * because `fetch` throws such an error if a connection fails.
 */
function isMistake(error: unknown): boolean {
  return (
    (error instanceof TypeError ||
      error instanceof ReferenceError ||
      error instanceof RangeError ||
      error instanceof SyntaxError) &&
    error.cause === undefined
  );
}

/**
 * The SQLSTATE classes of errors that a retry would only repeat: errors in data, constraints, syntax and
 * access.
 */
const LASTING = /^(22|23|42)[0-9A-Z]{3}$/;

function mayBePassing(error: unknown): boolean {
  if (isMistake(error)) return false;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !LASTING.test(code);
}
