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

/** Reports each wait once, although it is made in several steps. */
export class WaitReporter {
  readonly #account: Account;
  readonly #onWait: ((wait: ReplayWait) => unknown) | undefined;
  #reported: Pick<ReplayWait, 'reason' | 'until'> | undefined;
  #end: () => void = () => {};

  constructor(account: Account, onWait: ((wait: ReplayWait) => unknown) | undefined) {
    this.#account = account;
    this.#onWait = onWait;
  }

  /** `error` and `failures` are those of the connection before. */
  async begin(
    { why, ms }: Extract<ReplayAction, { do: 'wait' }>,
    error: MillraceError | undefined,
    failures: number,
  ): Promise<void> {
    this.#end();
    this.#end = this.#account.beginWait(
      why === 'after a failure'
        ? { reason: 'retry', waitMs: ms, error, retry: failures }
        : { reason: why, waitMs: ms },
    );
    if (why === 'after a failure') return;
    const until = new Date(this.#account.clock.now() + ms);
    const same =
      this.#reported?.reason === why &&
      Math.abs(this.#reported.until.getTime() - until.getTime()) < SECOND;
    if (same) return;
    this.#reported = { reason: why, until };
    await this.#onWait?.({ reason: why, until, waitMs: ms });
  }

  end(): void {
    this.#reported = undefined;
    this.#end();
    this.#end = () => {};
  }
}
