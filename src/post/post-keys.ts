import { DAY, floorTo, HOUR, MINUTE, SEGMENT } from '../base/time.js';
import type { Activity } from './activity.js';

export type PostKey =
  | 'author'
  | 'day'
  | 'format'
  | 'hour'
  | 'id'
  | 'lang'
  | 'minute'
  | 'month'
  | 'segment';

/**
 * Functions that return a key for a post, for each field by which posts can be grouped. Keys are cheap to
 * compute and to compare. The key for a unit of time is the start of the unit in epoch milliseconds (UTC).
 * The key for a month is the number of months since the year 0.
 *
 * @throws DataError if the post does not have the field.
 */
export const POST_KEYS: Readonly<Record<PostKey, (activity: Activity) => string | number>> = {
  author: activity => activity.author.handle,
  day: startOf(DAY),
  format: activity => activity.format,
  hour: startOf(HOUR),
  id: activity => activity.id,
  lang: activity => activity.lang ?? 'und',
  minute: startOf(MINUTE),
  month: ({ postedAt }) => postedAt.getUTCFullYear() * 12 + postedAt.getUTCMonth(),
  segment: startOf(SEGMENT),
};

function startOf(unit: number): (activity: Activity) => number {
  return ({ postedAt }) => floorTo(unit, postedAt.getTime());
}
