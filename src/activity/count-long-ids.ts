const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const E = 0x65;
const OPEN_BRACE = 0x7b;

/** Digits of the shortest number that counts as long. */
const LONG = 16;

/**
 * How many whole numbers of 16 digits or more stand in a JSON document as values of a key, told by
 * the bytes around them; or -1 if any stands where it may be a number and may be part of a string.
 *
 * Sixteen digits in a row cover one of any sixteen places, so only every sixteenth byte is looked at.
 */
export function countLongIds(json: Uint8Array): number {
  const { length } = json;
  let count = 0;
  for (let probe = LONG - 1; probe < length; probe += LONG) {
    // The run reaches eight further on one side at least. Most looks end here.
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

/** Whether what starts there, with a digit, is the value of a key, in a string, or either. */
function roleOf(json: Uint8Array, start: number): 'value' | 'string' | 'doubtful' {
  const before = json[start - 1];
  if (before === MINUS) return mayPrecedeValue(json[start - 2]) ? 'doubtful' : 'string';
  // A digit after a quote, a letter, a slash: no number starts like that.
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
  return (
    byte === undefined ||
    byte <= 0x20 ||
    byte === COMMA ||
    byte === COLON ||
    byte === OPEN_BRACKET ||
    byte === OPEN_BRACE
  );
}

function isFraction(byte: number | undefined): boolean {
  return byte === DOT || byte === E || byte === E - 0x20;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
