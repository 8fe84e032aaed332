import type { Window } from '../../time.js';
import type { ReplayEnd } from './info-message.js';

/** A replay as the console shows it. Instants are epoch milliseconds by the service's clock. */
export interface LoggedReplay {
  readonly number: number;
  readonly streamType: string;
  readonly window: Window;
  readonly startedAt: number;
  /** Absent while the replay runs. */
  readonly endedAt?: number | undefined;
  /** What its last message said; absent if the connection ended before it. */
  readonly end?: ReplayEnd | undefined;
}

const MAX_REPLAYS = 200;

/** The most recent replays. */
export class ReplayLog {
  readonly #now: () => number;
  #replays: LoggedReplay[] = [];
  #lastNumber = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Newest first. */
  get replays(): readonly LoggedReplay[] {
    return this.#replays.toReversed();
  }

  /** Adds a replay; the returned function records its end. */
  begin(streamType: string, window: Window): (end: ReplayEnd | undefined) => void {
    const logged: LoggedReplay = {
      number: ++this.#lastNumber,
      streamType,
      window,
      startedAt: this.#now(),
    };
    this.#replays = [...this.#replays, logged].slice(-MAX_REPLAYS);
    return end => {
      Object.assign(logged, { end, endedAt: this.#now() });
    };
  }
}
