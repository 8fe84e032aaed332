/** The length of the period from which the generated posts come, in milliseconds. */
const FIVE_YEARS = 5 * 365 * 86_400_000;
const NOW = 400_000_000_000;

/** Spreads integers evenly over 32 bits. The result depends only on `n`. */
function scatter(n: number): number {
  let x = Math.imul(n ^ (n >>> 16), 0x45d9f3b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * Returns the id of the n-th deleted post. Most deleted posts are recent and are roughly in the
 * order of their ids. Every fifth one is from any time in the last five years. As in the ids of the
 * service, the bits above the lowest 22 contain the time. The lowest bit is 0; an id with a 1
 * belongs to a post that is not deleted.
 */
export function deletedId(n: number, of: number): bigint {
  const young = NOW + Math.floor((n / of) * 30 * 86_400_000) + (scatter(n) % 3_600_000);
  const at = n % 5 === 0 ? NOW - Math.floor((scatter(n) / 2 ** 32) * FIVE_YEARS) : young;
  return (BigInt(at) << 22n) | BigInt((n & 0x1fffff) << 1);
}
