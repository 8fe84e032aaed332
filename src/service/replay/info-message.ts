import { formatSent, type Window } from '../../time.js';

export interface ReplayEnd {
  readonly sent: number;
  /** The number of messages sent. */
  readonly activityCount: number;
  /** Starts of minutes. */
  readonly minutesFailed: readonly number[];
  readonly unprocessed: Window | undefined;
}

/** The text of the last message, one of three. */
export function endingOf({ unprocessed, minutesFailed }: ReplayEnd): string {
  if (unprocessed !== undefined) return 'Replay Request Failed to Complete';
  return minutesFailed.length > 0
    ? 'Replay Request Completed with Errors'
    : 'Replay Request Completed';
}

/** The last message of a replay, in one of its three shapes. */
export function infoMessage(end: ReplayEnd): Buffer {
  const { sent, activityCount, minutesFailed, unprocessed } = end;
  const message = endingOf(end);
  const common = { sent: formatSent(sent), activity_count: activityCount };
  const info =
    unprocessed !== undefined
      ? {
          message,
          sent: common.sent,
          unprocessed_range: {
            fromDate: formatSent(unprocessed.from),
            toDate: formatSent(unprocessed.to),
          },
          activity_count: activityCount,
        }
      : minutesFailed.length > 0
        ? {
            message,
            ...common,
            minutes_failed: minutesFailed.map(formatSent),
          }
        : { message, ...common };
  return Buffer.from(JSON.stringify({ info }));
}
