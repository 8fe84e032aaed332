import { ID_EPOCH } from '../archive/look-up-post.js';

/** The start of time-based ids: a minute later, when they exceed the earlier sequential ids. */
export const SNOWFLAKES = ID_EPOCH + 60_000;
/** The start of time-based ids for users. */
export const USER_SNOWFLAKES = Date.UTC(2015, 10, 1);

const HALF = 100_000;

/**
 * The id for something that happened at `at`, ascending with time. `low` fills the 22 bits below the
 * milliseconds. Earlier ids are sequential, about 200 a second.
 */
export function snowflake(at: number, low: number): string {
  // In two halves of decimal digits: with bigint, ids took most of the time to generate a post.
  const ms = at - ID_EPOCH;
  const tail = (ms % HALF) * 0x400000 + (low & 0x3fffff);
  const head = Math.floor(ms / HALF) * 0x400000 + Math.floor(tail / HALF);
  return `${head}${String(tail % HALF).padStart(5, '0')}`;
}
