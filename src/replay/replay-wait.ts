import { optionError } from '../base/check.js';
import type { MillraceError } from '../base/errors.js';
import { DAY, formatTimestamp, SECOND, type Window } from '../base/time.js';
import type { Account } from '../http/account.js';
import type { ReplayAction } from './replay-machine.js';

/** The argument of `onWait`: a wait of a replay that is not caused by a failure. */
export interface ReplayWait {
  /**
   * `too recent`: the service can replay minutes only once they are 30 minutes old. `connect limit`: the
   * service allows 5 connections in 5 minutes.
   */
  readonly reason: 'too recent' | 'connect limit';
  /** The end of the wait, by the service's clock. */
  readonly until: Date;
  readonly waitMs: number;
  /**
   * The approximate time in milliseconds until the replay completes, including this wait, if all connections
   * succeed. `undefined` if this cannot be estimated.
   */
  readonly leftMs: number | undefined;
}

/** How far in the future a window may end, in milliseconds. A later date is refused as a mistake. */
const MAX_AHEAD_MS = 366 * DAY;

/** @throws OptionError if the service's clock shows that the end of the window is too far in the future. */
export function refuseFarAhead(call: string, { to }: Window, serviceNow: number): void {
  if (to > serviceNow + MAX_AHEAD_MS)
    throw optionError(
      call,
      'toDate',
      `must be at most ${MAX_AHEAD_MS / DAY} days ahead, because a replay waits for each minute, got ${formatTimestamp(to)}`,
    );
}

type WaitAction = Extract<ReplayAction, { do: 'wait' }>;

/** `until` is the end of the wait by the service's clock. */
interface CurrentWait extends Pick<WaitAction, 'why'> {
  readonly until: number;
  readonly end: () => void;
}

/** Reports each wait once, even if it has several steps or continues briefly because a timer fired early. */
export class WaitReporter {
  readonly #account: Account;
  #current: CurrentWait | undefined;

  constructor(account: Account) {
    this.#account = account;
  }

  /**
   * Reports a wait to the account, unless it was already reported. Returns the wait for `onWait`. Returns
   * `undefined` if it was already reported, or if it follows a failure.
   *
   * @param error The error of the previous connection.
   * @param failures The number of consecutive connections that have failed.
   */
  begin(
    { why, ms }: WaitAction,
    error: MillraceError | undefined,
    failures: number,
  ): Omit<ReplayWait, 'leftMs'> | undefined {
    const account = this.#account;
    const until = account.clock.now() + ms;
    const current = this.#current;
    if (current?.why === why && Math.abs(current.until - until) < SECOND) return undefined;
    this.end();
    const end = account.beginWait(
      why === 'after a failure'
        ? { reason: 'retry', waitMs: ms, error, retry: failures }
        : {
            reason: why,
            setting: why === 'connect limit' ? 'limits.replay' : undefined,
            waitMs: ms,
          },
    );
    this.#current = { why, until, end };
    if (why === 'after a failure') return undefined;
    return { reason: why, until: new Date(until), waitMs: ms };
  }

  end(): void {
    this.#current?.end();
    this.#current = undefined;
  }
}
