import { OptionError } from '../errors.js';
import { type Clock, checkRange, instantOf, spanOf } from './clock.js';
import { HttpProblem } from './http/http-problem.js';

/**
 * Moves the clock: `set` to epoch milliseconds, `YYYYMMDDHHMM` or an ISO 8601 time; `advance` by
 * milliseconds or a time such as `31m`; `frozen` stops it or lets it run.
 *
 * @throws HttpProblem 422 for a change that is not valid; the clock is unchanged then.
 */
export function changeClock(clock: Clock, change: Readonly<Record<string, unknown>>): void {
  const { set, advance, frozen, ...rest } = change;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw new HttpProblem(422, `The clock has no '${stray}'`);
  if (frozen !== undefined && typeof frozen !== 'boolean')
    throw new HttpProblem(422, "Expected 'frozen' to be true or false");
  try {
    const instant = set === undefined ? undefined : instantOf(set);
    const span = advance === undefined ? undefined : spanOf(advance);
    checkRange((instant ?? clock.now()) + (span ?? 0));
    if (frozen === true) clock.freeze();
    if (instant !== undefined) clock.set(instant);
    if (span !== undefined) clock.advance(span);
  } catch (error) {
    if (error instanceof OptionError) throw new HttpProblem(422, error.message);
    throw error;
  }
  if (frozen === false) clock.resume();
}
