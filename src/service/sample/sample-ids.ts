import { ID_EPOCH } from '../id-epoch.js';

/** They do from here on: a minute later, when they are larger than the numbers that posts had before. */
export const SNOWFLAKES = ID_EPOCH + 60_000;
/** From here on user ids do as well. */
export const USER_SNOWFLAKES = Date.UTC(2015, 10, 1);

const HALF = 100_000;

/**
 * Id of what happened at `at`, ascending with the time. `low` fills the 22 bits below the
 * milliseconds. Earlier ids counted posts, about 200 a second.
 */
export function snowflake(at: number, low: number): string {
  // Two halves of decimal digits: with bigints, ids took most of the time of a post.
  const ms = at - ID_EPOCH;
  const tail = (ms % HALF) * 0x400000 + (low & 0x3fffff);
  const head = Math.floor(ms / HALF) * 0x400000 + Math.floor(tail / HALF);
  return `${head}${String(tail % HALF).padStart(5, '0')}`;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** `length` letters and digits that look like those of short links. */
export function shortCode(next: () => number, length: number): string {
  let code = '';
  for (let i = 0; i < length; i++) code += DIGITS.charAt(next() % 62);
  return code;
}
