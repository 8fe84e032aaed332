/**
 * Whether a JSON value nests deeper than `maxDepth`. A value of n bytes that ends all that it begins
 * cannot nest deeper than n/2, so most records are never looked at.
 */
export function isDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    // What is left must close what is open, so only half of the bytes beyond that could go deeper.
    if (depth + json.length - at <= 2 * maxDepth) return false;
    const byte = json[at]!;
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}
