/**
 * `everyday` is what `npm test` runs. `all` is `npm run test:all`, and what a command line names. `nightly` has the
 * counts that take hours: `npm run faults -- tests`.
 */
export type Suite = 'everyday' | 'all' | 'nightly';

/** The environment variable by which `vitest.config.ts` tells the processes of tests which suite they run. */
export const SUITE = 'MILLRACE_SUITE';

const suite: string = process.env[SUITE] ?? 'everyday';

export const isEveryday = suite === 'everyday';
export const isNightly = suite === 'nightly';

/** How often or how long a test tries something: in all tests, in the nightly ones, and in the everyday ones. */
export function bySuite<Value extends number | string>(
  all: Value,
  nightly: Value,
  everyday: Value = all,
): Value {
  if (isEveryday) return everyday;
  return isNightly ? nightly : all;
}
