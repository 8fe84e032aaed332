import { formatSent, type Window } from '../../base/time.js';

/** A replay, as the console shows it. Times are in epoch milliseconds by the service's clock. */
export interface LoggedReplay {
  readonly number: number;
  readonly streamType: string;
  readonly window: Window;
  readonly startedAt: number;
  /** The end of the replay; absent while it runs. */
  readonly endedAt?: number | undefined;
  /** The content of the last message; absent if the connection ended before that message. */
  readonly end?: ReplayInfo | undefined;
}

const MAX_REPLAYS = 200;

export class ReplayLog {
  readonly #now: () => number;
  #replays: LoggedReplay[] = [];
  #lastNumber = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The replays, newest first. */
  get replays(): readonly LoggedReplay[] {
    return this.#replays.toReversed();
  }

  /** Adds a replay. Returns a function that records its end. */
  begin(streamType: string, window: Window): (end: ReplayInfo | undefined) => void {
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

export interface ReplayInfo {
  readonly sent: number;
  /** The number of messages sent. */
  readonly activityCount: number;
  /** The start of each failed minute, in epoch milliseconds. */
  readonly minutesFailed: readonly number[];
  readonly unprocessed: Window | undefined;
}

export function endingOf({ unprocessed, minutesFailed }: ReplayInfo): string {
  if (unprocessed !== undefined) return 'Replay Request Failed to Complete';
  return minutesFailed.length > 0
    ? 'Replay Request Completed with Errors'
    : 'Replay Request Completed';
}

/** Prints the `info` message that ends a replay. */
export function infoMessage(end: ReplayInfo): Buffer {
  const { sent, activityCount, minutesFailed, unprocessed } = end;
  const info = {
    message: endingOf(end),
    sent: formatSent(sent),
    unprocessed_range: unprocessed && {
      fromDate: formatSent(unprocessed.from),
      toDate: formatSent(unprocessed.to),
    },
    activity_count: activityCount,
    minutes_failed:
      unprocessed === undefined && minutesFailed.length > 0
        ? minutesFailed.map(formatSent)
        : undefined,
  };
  return Buffer.from(JSON.stringify({ info }));
}
