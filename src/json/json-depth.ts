import { BACKSLASH, isClosing, isOpening, QUOTE } from './json-bytes.js';

/**
 * Whether a complete JSON value nests deeper than `maxDepth`; `JsonGuard` and `ValueEnd` check values that
 * arrive in blocks. n bytes cannot nest deeper than n/2, so most records need no scan.
 */
export function isDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  return opensMoreThan(maxDepth, json) && nestsDeeperThan(maxDepth, json);
}

/**
 * Whether there are more than `maxDepth` opening brackets, strings included: a quick first check, as
 * counting takes half the time of finding strings.
 */
function opensMoreThan(maxDepth: number, json: Uint8Array): boolean {
  let openings = 0;
  let end = json.length - 2 * maxDepth;
  for (let at = 0; at < end; at++) {
    if (!isOpening(json[at]!)) continue;
    if (++openings > maxDepth) return true;
    end++;
  }
  return false;
}

function nestsDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  const { length } = json;
  let depth = 0;
  // Every open bracket needs a closing one, so only half of the remaining bytes can go deeper.
  for (let at = 0; at < length - 2 * maxDepth + depth; ) {
    const byte = json[at++]!;
    if (byte === QUOTE) at = afterString(json, at);
    else if (isOpening(byte)) {
      if (++depth > maxDepth) return true;
    } else if (isClosing(byte)) depth--;
  }
  return false;
}

function afterString(json: Uint8Array, start: number): number {
  const { length } = json;
  let at = start;
  while (at < length) {
    const byte = json[at++];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at++;
  }
  return at;
}
