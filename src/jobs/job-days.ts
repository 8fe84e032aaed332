import { OptionError } from '../errors.js';
import { DAY, floorTo, MINUTE, parseTimestamp, type Timestamp, timestampOption } from '../time.js';

/**
 * How many historical days a job for this window counts (service.md 2.5): every UTC day of which any
 * minute lies in it. `fromDate` is inclusive, `toDate` exclusive.
 *
 * @throws OptionError for dates that are none, or where `toDate` is not after `fromDate`.
 * @example
 * jobs.countDays('201201010000', '201201020000') // 1
 * jobs.countDays('201201010001', '201201020001') // 2
 */
export function countJobDays(fromDate: Timestamp, toDate: Timestamp): number {
  const { from, to } = jobWindow(fromDate, toDate);
  const last = to - MINUTE;
  return (floorTo(DAY, last) - floorTo(DAY, from)) / DAY + 1;
}

/** Both dates, checked, as they are sent and in epoch milliseconds. */
export function jobWindow(fromDate: Timestamp, toDate: Timestamp) {
  const sent = {
    fromDate: timestampOption('fromDate', fromDate),
    toDate: timestampOption('toDate', toDate),
  };
  const from = parseTimestamp(sent.fromDate) ?? Number.NaN;
  const to = parseTimestamp(sent.toDate) ?? Number.NaN;
  if (!(from < to))
    throw new OptionError(
      'toDate',
      `\`toDate\` ${sent.toDate} must be after \`fromDate\` ${sent.fromDate}: it is exclusive, so a whole day ends at 0000 of the next`,
    );
  return { ...sent, from, to };
}
