/**
 * `npm test` runs `everyday`. `npm run test:all` runs `all`, and so does a command line that names
 * files. `npm run faults -- tests` runs `nightly`, which takes hours.
 */
export type Suite = 'everyday' | 'all' | 'nightly';

/**
 * The environment variable that tells the child processes of tests which suite is running.
 * `vitest.config.ts` sets it.
 */
export const SUITE = 'MILLRACE_SUITE';

const suite: string = process.env[SUITE] ?? 'everyday';

export const isEveryday = suite === 'everyday';
export const isNightly = suite === 'nightly';

/**
 * Returns one of the values, depending on the suite. Tests use it to try something more often or
 * for longer.
 */
export function bySuite<Value extends number | string>(
  all: Value,
  nightly: Value,
  everyday: Value = all,
): Value {
  if (isEveryday) return everyday;
  return isNightly ? nightly : all;
}
