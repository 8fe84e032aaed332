/** Posts per second of the made-up past, ids as the service makes them: milliseconds above 22 bits. */
const FIVE_YEARS = 5 * 365 * 86_400_000;
const NOW = 400_000_000_000;

/** Spreads whole numbers evenly over 32 bits, always the same way. */
function scatter(n: number): number {
  let x = Math.imul(n ^ (n >>> 16), 0x45d9f3b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * The id of the n-th deleted post. Most posts are deleted young, in the order of their ids by and
 * large; every fifth is any of five years. Its lowest bit is 0: with a 1 there it is a post that stays.
 */
export function deletedId(n: number, of: number): bigint {
  const young = NOW + Math.floor((n / of) * 30 * 86_400_000) + (scatter(n) % 3_600_000);
  const at = n % 5 === 0 ? NOW - Math.floor((scatter(n) / 2 ** 32) * FIVE_YEARS) : young;
  return (BigInt(at) << 22n) | BigInt((n & 0x1fffff) << 1);
}
