import { DAY } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { UsageMeter } from '../../../src/service/usage/usage-meter.js';

export const START = Date.UTC(2024, 0, 1);

export const ALL = { from: START - 1000 * DAY, to: START + 1000 * DAY };

export function meterOf(stateFolder?: string, now = START) {
  const clock = new Clock();
  clock.freeze();
  clock.set(now);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const meter = new UsageMeter(clock, { stateFolder, limits: limitsOf('strict'), onError });
  return { clock, errors, meter };
}
