import { parseTimestamp } from '../../base/time.js';

/** The instants that a date of a request may name, and what is said of others. */
export interface DateBounds {
  readonly earliest: number;
  readonly tooEarly: string;
  readonly latest: number;
  readonly tooLate: string;
}

/**
 * Reads a date of a request, and adds what is wrong with it to `problems`.
 *
 * @param what Names it: `query parameter 'fromDate'`.
 */
export function readDate(
  text: string,
  what: string,
  { earliest, tooEarly, latest, tooLate }: DateBounds,
  problems: string[],
): number | undefined {
  const ms = parseTimestamp(text);
  if (ms === undefined)
    problems.push(
      `Invalid date format for ${what}. Expected format is 'yyyyMMddHHmm'. ` +
        "For example, '201701012315' for January 1st, 11:15 pm 2017 UTC.",
    );
  else if (ms > latest) problems.push(`Invalid date for ${what}. ${tooLate}`);
  else if (ms < earliest) problems.push(`Invalid date for ${what}. ${tooEarly}`);
  return ms;
}
