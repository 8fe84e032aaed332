/**
 * The seed of `npm test` and `npm run test:all`. Every run generates the same values, so only a
 * code change can change the result.
 */
export const FIXED_SEED = 45;

/**
 * Returns the fast-check seed for a value of `MILLRACE_SEED`. If the result is `undefined`, each
 * property uses a random seed and prints it on failure.
 */
export function propertySeed(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return FIXED_SEED;
  if (text === 'random') return undefined;
  const seed = Number(text);
  if (!/^-?\d+$/.test(text) || seed !== (seed | 0))
    throw new Error(`MILLRACE_SEED is "random" or a 32-bit integer, not ${JSON.stringify(text)}`);
  return seed;
}
