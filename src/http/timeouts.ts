import { OptionError } from '../errors.js';
import { SECOND } from '../time.js';

/** In milliseconds. */
export interface Timeouts {
  /** Until a connection stands. */
  readonly connect: number;
  /** From the start of a request until its answer begins. */
  readonly answer: number;
  /** Between two arrivals of bytes, heartbeats among them; beyond 30 s (service.md section 8). */
  readonly silence: number;
}

const DEFAULTS: Timeouts = { connect: 10 * SECOND, answer: 90 * SECOND, silence: 40 * SECOND };

export function checkTimeouts(options: Partial<Timeouts> = {}): Timeouts {
  const { connect, answer, silence } = DEFAULTS;
  return {
    connect: checkMilliseconds('timeouts.connect', options.connect ?? connect),
    answer: checkMilliseconds('timeouts.answer', options.answer ?? answer),
    silence: checkMilliseconds('timeouts.silence', options.silence ?? silence),
  };
}

/** More than nothing, and no more than a timer can hold. */
export function checkMilliseconds(option: string, value: unknown, least = 1): number {
  if (typeof value !== 'number' || !(value >= least && value < 2 ** 31))
    throw new OptionError(
      option,
      `Expected \`${option}\` to be a number of milliseconds from ${least} to ${2 ** 31 - 1}, got ${String(value)}`,
    );
  return value;
}
