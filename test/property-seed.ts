/** The seed of `npm test` and `npm run test:all`: the same draws in every run, so that a change is the only reason for another result. */
export const FIXED_SEED = 45;

/** The seed that `MILLRACE_SEED` names for fast-check; `undefined` lets each property draw its own and print it if it fails. */
export function propertySeed(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return FIXED_SEED;
  if (text === 'random') return undefined;
  const seed = Number(text);
  if (!/^-?\d+$/.test(text) || seed !== (seed | 0))
    throw new Error(`MILLRACE_SEED is "random" or a 32-bit integer, not ${JSON.stringify(text)}`);
  return seed;
}
