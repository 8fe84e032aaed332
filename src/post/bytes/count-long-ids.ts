import {
  BACKSLASH,
  COLON,
  COMMA,
  isDigit,
  isOpening,
  MINUS,
  QUOTE,
} from '../../json/json-bytes.js';

const DOT = 0x2e;
const E = 0x65;

/** Digits of the shortest number that counts as long. */
const LONG = 16;

/**
 * Counts the integers of 16 digits or more that are values of keys in a JSON document, without
 * parsing it: the bytes around them decide. Returns -1 if it cannot distinguish a number from a part
 * of a string.
 *
 * 16 adjacent digits always include a 16th byte, so only every 16th byte is read.
 */
export function countLongIds(json: Uint8Array): number {
  const { length } = json;
  let count = 0;
  for (let probe = LONG - 1; probe < length; probe += LONG) {
    // A run of 16 digits extends 8 or more to one side. Most probes end here.
    if (!isDigit(json[probe])) continue;
    if (!isDigit(json[probe - 8]) && !(probe + 8 < length && isDigit(json[probe + 8]))) continue;
    let start = probe;
    while (start > 0 && isDigit(json[start - 1])) start--;
    const role = start < 3 ? 'doubtful' : roleOf(json, start);
    if (role === 'string') continue;
    let end = probe + 1;
    while (end < length && isDigit(json[end])) end++;
    if (end - start < LONG) continue;
    if (role === 'doubtful' || end === length || isFraction(json[end])) return -1;
    count++;
    probe += (end - 1 - probe) & -LONG;
  }
  return count;
}

/**
 * Whether the digits that start here are the value of a key, a part of a string, or possibly either.
 */
function roleOf(json: Uint8Array, start: number): 'value' | 'string' | 'doubtful' {
  const before = json[start - 1];
  if (before === MINUS) return mayPrecedeValue(json[start - 2]) ? 'doubtful' : 'string';
  // A number cannot start right after a quote, a letter or a slash.
  if (before !== COLON) return mayPrecedeValue(before) ? 'doubtful' : 'string';
  const quote = json[start - 2];
  // A colon that is not in a string comes after a key.
  if (quote !== QUOTE) return mayPrecedeValue(quote) ? 'doubtful' : 'string';
  const last = json[start - 3];
  // After any other byte a quote closes a string, and a string with a colon after it is a key.
  return last === QUOTE || last === BACKSLASH || mayPrecedeValue(last) ? 'doubtful' : 'value';
}

/** Space, comma, colon, opening bracket or brace: a value, and so a string, can start after it. */
function mayPrecedeValue(byte: number | undefined): boolean {
  return byte === undefined || byte <= 0x20 || byte === COMMA || byte === COLON || isOpening(byte);
}

function isFraction(byte: number | undefined): boolean {
  return byte === DOT || byte === E || byte === E - 0x20;
}
