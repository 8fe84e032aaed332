import type { Progress } from '../flow/progress.js';
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
  readonly #onWait: ((wait: ReplayWait) => unknown) | undefined;
  readonly #progress: Progress | undefined;
  #reported: Pick<ReplayWait, 'reason' | 'until'> | undefined;

  constructor(onWait: ((wait: ReplayWait) => unknown) | undefined, progress: Progress | undefined) {
    this.#onWait = onWait;
    this.#progress = progress;
  }

  async begin({ why, ms }: Extract<ReplayAction, { do: 'wait' }>, now: number): Promise<void> {
    const until = new Date(now + ms);
    if (this.#progress !== undefined) this.#progress.waitsUntil = until.getTime();
    if (why === 'after a failure') return;
    const same =
      this.#reported?.reason === why &&
      Math.abs(this.#reported.until.getTime() - until.getTime()) < SECOND;
    if (same) return;
    this.#reported = { reason: why, until };
    await this.#onWait?.({ reason: why, until, waitMs: ms });
  }

  end(): void {
    this.#reported = undefined;
    if (this.#progress !== undefined) this.#progress.waitsUntil = undefined;
  }
}
