import type { Progress } from '../flow/progress.js';
import { SECOND } from '../time.js';
import type { ReplayAction } from './replay-machine.js';

/** A wait of a replay that no failure caused. */
export interface ReplayWait {
  /**
   * `too recent`: the service gives minutes when they are half an hour old; `connect limit`: it takes
   * five connections in five minutes.
   */
  readonly reason: 'too recent' | 'connect limit';
  /** When it ends, by the service's clock. */
  readonly until: Date;
  readonly waitMs: number;
}

/** Tells of each wait once, however many steps it is made in. */
export class WaitReporter {
  readonly #onWait: ((wait: ReplayWait) => void) | undefined;
  readonly #progress: Progress | undefined;
  #told: Pick<ReplayWait, 'reason' | 'until'> | undefined;

  constructor(onWait: ((wait: ReplayWait) => void) | undefined, progress: Progress | undefined) {
    this.#onWait = onWait;
    this.#progress = progress;
  }

  begin({ why, ms }: Extract<ReplayAction, { do: 'wait' }>, now: number): void {
    const until = new Date(now + ms);
    if (this.#progress !== undefined) this.#progress.waitsUntil = until.getTime();
    if (why === 'after a failure') return;
    const same =
      this.#told?.reason === why && Math.abs(this.#told.until.getTime() - until.getTime()) < SECOND;
    if (same) return;
    this.#told = { reason: why, until };
    this.#onWait?.({ reason: why, until, waitMs: ms });
  }

  end(): void {
    this.#told = undefined;
    if (this.#progress !== undefined) this.#progress.waitsUntil = undefined;
  }
}
