import { formatSent, type Window } from '../../time.js';

export interface ReplayEnd {
  readonly sent: number;
  /** Messages sent. */
  readonly activityCount: number;
  /** Starts of minutes. */
  readonly minutesFailed: readonly number[];
  readonly unprocessed: Window | undefined;
}

/** The last message of a replay, in one of its three shapes (service.md 2.7). */
export function infoMessage({
  sent,
  activityCount,
  minutesFailed,
  unprocessed,
}: ReplayEnd): Buffer {
  const common = { sent: formatSent(sent), activity_count: activityCount };
  return messageOf(
    unprocessed !== undefined
      ? {
          message: 'Replay Request Failed to Complete',
          sent: common.sent,
          unprocessed_range: {
            fromDate: formatSent(unprocessed.from),
            toDate: formatSent(unprocessed.to),
          },
          activity_count: activityCount,
        }
      : minutesFailed.length > 0
        ? {
            message: 'Replay Request Completed with Errors',
            ...common,
            minutes_failed: minutesFailed.map(formatSent),
          }
        : { message: 'Replay Request Completed', ...common },
  );
}

function messageOf(info: object): Buffer {
  return Buffer.from(JSON.stringify({ info }));
}
