import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError, StorageError } from '../../base/errors.js';
import { backoffMs, type OnWait } from '../../base/wait.js';

export interface RetryOptions {
  /** The target, for messages. */
  readonly name: string;
  readonly retries: number;
  readonly retryWaitMs: number;
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
}

export interface RetryRun {
  /** Fires when the run is to end. */
  readonly signal: AbortSignal;
  readonly onWait: OnWait | undefined;
}

const MAX_WAIT_MS = 30_000;

/** Says which commits that failed are tried again and when, and what the error of the last one is. */
export class CommitRetries {
  /** The maximum number of tries after the first. */
  readonly max: number;
  readonly #options: RetryOptions;
  readonly #run: RetryRun;

  constructor(options: RetryOptions, run: RetryRun) {
    this.max = options.retries;
    this.#options = options;
    this.#run = run;
  }

  /** Whether a commit that failed with this error is tried again. */
  isRetryable(error: unknown): boolean {
    if (this.#run.signal.aborted) return false;
    if (error instanceof MillraceError) return error.retryable;
    return this.#options.isRetryable?.(error) ?? mayBePassing(error);
  }

  /** Waits before a try, for longer after each failure. */
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
   * Adds to an error of the caller's functions what to do about it. Errors of Millrace, aborts and mistakes in code
   * stay unchanged.
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

/** Whether an error is one of code. `fetch` throws a `TypeError` with a cause where a connection fails. */
function isMistake(error: unknown): boolean {
  return (
    (error instanceof TypeError ||
      error instanceof ReferenceError ||
      error instanceof RangeError ||
      error instanceof SyntaxError) &&
    error.cause === undefined
  );
}

/** Classes of SQLSTATE that the same statement gives again: data, constraints, syntax and access. */
const LASTING = /^(22|23|42)[0-9A-Z]{3}$/;

function mayBePassing(error: unknown): boolean {
  if (isMistake(error)) return false;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !LASTING.test(code);
}
