import { ID_EPOCH } from '../archive/look-up-post.js';

/**
 * From this time on, ids are based on the time of the post. Earlier ids are sequential. This is one minute
 * after the epoch of time-based ids, so that every time-based id is larger than all sequential ids.
 */
export const SNOWFLAKES = ID_EPOCH + 60_000;
/**
 * Users who joined at this time, in epoch milliseconds, or later have ids that contain the time of joining.
 */
export const USER_SNOWFLAKES = Date.UTC(2015, 10, 1);

const HALF = 100_000;

/**
 * Returns the time-based id of an event at the time `at` (see `SNOWFLAKES`). Ids ascend with time: the high
 * bits are milliseconds. `low` fills the lowest 22 bits.
 */
export function snowflake(at: number, low: number): string {
  // The last five digits are computed separately, because the id is too large for a safe integer. With
  // bigint, this function took most of the time to generate a post.
  const ms = at - ID_EPOCH;
  const tail = (ms % HALF) * 0x400000 + (low & 0x3fffff);
  const head = Math.floor(ms / HALF) * 0x400000 + Math.floor(tail / HALF);
  return `${head}${String(tail % HALF).padStart(5, '0')}`;
}
