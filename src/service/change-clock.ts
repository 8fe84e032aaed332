import { DAY, HOUR, MINUTE, parseTimestamp, SECOND } from '../time.js';
import type { Clock } from './clock.js';
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
  const instant = set === undefined ? undefined : instantOf(set);
  const span = advance === undefined ? undefined : spanOf(advance);
  if (frozen !== undefined && typeof frozen !== 'boolean')
    throw new HttpProblem(422, "Expected 'frozen' to be true or false");
  const target = (instant ?? clock.now()) + (span ?? 0);
  if (target < EARLIEST || target > LATEST)
    throw new HttpProblem(422, 'The clock goes from the year 1 to the year 9999');
  if (frozen === true) clock.freeze();
  if (instant !== undefined) clock.set(instant);
  if (span !== undefined) clock.advance(span);
  if (frozen === false) clock.resume();
}

/** Timestamps have years of four digits. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

function instantOf(value: unknown): number {
  const ms = typeof value === 'string' ? (parseTimestamp(value) ?? Date.parse(value)) : value;
  if (typeof ms !== 'number' || Number.isNaN(new Date(ms).getTime()))
    throw new HttpProblem(
      422,
      "Expected 'set' to be epoch milliseconds, YYYYMMDDHHMM or an ISO 8601 time",
    );
  return ms;
}

const UNITS: Record<string, number> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Milliseconds, or a number with a unit: `30s`, `31m`, `2h`, `15d`. */
function spanOf(value: unknown): number {
  const [, amount, unit = 'ms'] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value)) ?? [];
  const ms = Number(amount) * (UNITS[unit] as number);
  if (!Number.isFinite(ms) || Math.abs(ms) > 100 * 365 * DAY)
    throw new HttpProblem(
      422,
      "Expected 'advance' to be milliseconds or a time such as 30s, 31m, 15d",
    );
  return ms;
}
