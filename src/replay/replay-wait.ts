import type { MillraceError } from '../errors.js';
import type { Account } from '../http/account.js';
import { SECOND } from '../time.js';
import type { ReplayAction } from './replay-machine.js';

/** A wait of a replay that is not caused by a failure. */
export interface ReplayWait {
  /**
   * `too recent`: the service has minutes once they are half an hour old; `connect limit`: it allows
   * five connections in five minutes.
   */
  readonly reason: 'too recent' | 'connect limit';
  /** When it ends, by the service's clock. */
  readonly until: Date;
  readonly waitMs: number;
}

type WaitAction = Extract<ReplayAction, { do: 'wait' }>;

interface CurrentWait {
  readonly why: WaitAction['why'];
  /** When it ends, by the service's clock. */
  readonly until: number;
  readonly end: () => void;
}

/** Reports each wait once, although it is made in several steps, and a timer may end a little early. */
export class WaitReporter {
  readonly #account: Account;
  readonly #onWait: ((wait: ReplayWait) => unknown) | undefined;
  #current: CurrentWait | undefined;

  constructor(account: Account, onWait: ((wait: ReplayWait) => unknown) | undefined) {
    this.#account = account;
    this.#onWait = onWait;
  }

  /** `error` and `failures` are those of the connection before. */
  async begin(
    { why, ms }: WaitAction,
    error: MillraceError | undefined,
    failures: number,
  ): Promise<void> {
    const until = this.#account.clock.now() + ms;
    const { why: before, until: untilBefore = 0 } = this.#current ?? {};
    if (before === why && Math.abs(untilBefore - until) < SECOND) return;
    this.end();
    const end = this.#account.beginWait(
      why === 'after a failure'
        ? { reason: 'retry', waitMs: ms, error, retry: failures }
        : { reason: why, waitMs: ms },
    );
    this.#current = { why, until, end };
    if (why !== 'after a failure')
      await this.#onWait?.({ reason: why, until: new Date(until), waitMs: ms });
  }

  end(): void {
    this.#current?.end();
    this.#current = undefined;
  }
}
