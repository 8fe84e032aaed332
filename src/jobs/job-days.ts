import { checkOptions, date, type OptionTable, optionError, required } from '../check.js';
import { DAY, floorTo, formatTimestamp, MINUTE, parseDate, type Timestamp } from '../time.js';

interface JobDates {
  readonly fromDate: Timestamp;
  readonly toDate: Timestamp;
}

/** The dates of a job. */
export const JOB_DATES = {
  fromDate: required(date('the first minute, inclusive')),
  toDate: required(date('the last minute, exclusive')),
} satisfies OptionTable<JobDates>;

/**
 * The number of historical days that a job for this window counts as: every UTC day that has at least
 * one minute of it. `fromDate` is inclusive, `toDate` exclusive; seconds are cut off.
 *
 * @throws OptionError for an invalid date, or when `toDate` is not after `fromDate`.
 * @example
 * jobs.countDays('201201010000', '201201020000') // 1
 * jobs.countDays('201201010001', '201201020001') // 2
 */
export function countJobDays(fromDate: Timestamp, toDate: Timestamp): number {
  const dates = checkOptions('jobs.countDays', JOB_DATES, { fromDate, toDate });
  const { from, to } = jobWindow('jobs.countDays', dates);
  const last = to - MINUTE;
  return (floorTo(DAY, last) - floorTo(DAY, from)) / DAY + 1;
}

/**
 * The dates of a job as they are sent and in epoch milliseconds; both are valid by themselves.
 *
 * @throws OptionError when `toDate` is not after `fromDate`.
 */
export function jobWindow(call: string, { fromDate, toDate }: JobDates) {
  const from = parseDate(fromDate) ?? Number.NaN;
  const to = parseDate(toDate) ?? Number.NaN;
  const sent = { fromDate: formatTimestamp(from), toDate: formatTimestamp(to) };
  if (!(from < to))
    throw optionError(
      call,
      'toDate',
      `must be after \`fromDate\` ${sent.fromDate}, got ${sent.toDate}: it is exclusive, so a whole day ends at 0000 of the next`,
    );
  return { ...sent, from, to };
}
