import { BACKSLASH, isClosing, isOpening, QUOTE } from './json-bytes.js';

const ONES = 0x01010101;
const HIGH_BITS = 0x80808080;
const BRACE_BITS = 0x20202020;
const OPEN_OBJECTS = 0x7b7b7b7b;

/**
 * Whether a complete JSON value nests deeper than `maxDepth`; `JsonGuard` and `ValueEnd` check values that
 * arrive in blocks. n bytes cannot nest deeper than n/2, so most records need no scan.
 *
 * @param maxDepth At least 1.
 */
export function isDeeperThan(maxDepth: number, json: Uint8Array): boolean {
  return opensMoreThan(maxDepth, json) && nestsDeeperThan(maxDepth, json);
}

/**
 * Whether there may be more than `maxDepth` opening brackets, strings included: a quick first check, four
 * bytes at a time. It may count too many.
 */
function opensMoreThan(maxDepth: number, { buffer, byteOffset, length }: Uint8Array): boolean {
  const before = -byteOffset & 3;
  const words = new Int32Array(buffer, byteOffset + before, Math.max(0, length - before) >> 2);
  // Bytes before the first word and after the last count as openings.
  let openings = length - 4 * words.length;
  // Every open bracket needs a closing one, so only half of the remaining bytes can go deeper.
  for (let at = 0; at < words.length && 4 * at < length - 2 * maxDepth + openings; at++) {
    // A byte becomes zero where it is `[` or `{`, which differ in one bit; then its highest bit marks it.
    const word = (words[at]! | BRACE_BITS) ^ OPEN_OBJECTS;
    const marks = (word - ONES) & ~word & HIGH_BITS;
    if (marks === 0) continue;
    openings += Math.imul(marks >>> 7, ONES) >>> 24;
    if (openings > maxDepth) break;
  }
  return openings > maxDepth;
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
