/**
 * The period of the generated posts, in milliseconds. Their ids contain a time above the 22 low
 * bits, like the ids of the service.
 */
const FIVE_YEARS = 5 * 365 * 86_400_000;
const NOW = 400_000_000_000;

/** Spreads integers evenly over 32 bits. The result depends only on `n`. */
function scatter(n: number): number {
  let x = Math.imul(n ^ (n >>> 16), 0x45d9f3b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * Returns the id of the n-th deleted post. Most deleted posts are recent and roughly in the order
 * of their ids, but every fifth one is from any time in five years. The lowest bit is 0; ids with a
 * 1 belong to posts that are not deleted.
 */
export function deletedId(n: number, of: number): bigint {
  const young = NOW + Math.floor((n / of) * 30 * 86_400_000) + (scatter(n) % 3_600_000);
  const at = n % 5 === 0 ? NOW - Math.floor((scatter(n) / 2 ** 32) * FIVE_YEARS) : young;
  return (BigInt(at) << 22n) | BigInt((n & 0x1fffff) << 1);
}
