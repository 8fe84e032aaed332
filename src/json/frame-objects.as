// Checks in AssemblyScript that lines are JSON objects, 64 bytes at a time. JavaScript reads one
// byte at a time, which takes ten times as long. `npm run build:wasm` compiles this file to
// `frame-objects-wasm.ts`. `object-lines.ts` describes what it does.
//
// For each block of 64 bytes, it computes one 64-bit number per kind of byte, with a bit for each
// byte. It can then check for all bytes at once which bytes may follow which others. The method is
// that of simdjson (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).

const QUOTE: i8 = 0x22;
const COMMA: i8 = 0x2c;
const COLON: i8 = 0x3a;
const BACKSLASH: i8 = 0x5c;
const SPACE: i8 = 0x20;
const TAB: i8 = 0x09;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;
const CLOSE_ARRAY: u32 = 0x5d;
const LF: u32 = 0x0a;
const CR: u32 = 0x0d;
const MINUS: u32 = 0x2d;
/**
 * The bits in which the four brackets differ. Setting all of these bits turns each bracket into
 * `ANY_BRACKET`.
 */
const BRACKET_BITS: i8 = 0x26;
const ANY_BRACKET: i8 = 0x7f;
const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/**
 * The maximum depth of a record. The open brackets are stored as the bits of one 64-bit number.
 * JavaScript reads records that are nested more deeply.
 */
const MAX_DEPTH: u32 = 63;

// Addresses in memory; see `object-lines.ts`. Vectors are read from memory, because V8 recreates a
// constant each time it is used.
const VECTORS: usize = 0;
const NEXT: usize = 1016;
const IS_CUT: usize = 1020;

/**
 * The block that `spacedObject` has read last. `hadSpace` tells whether its record contained white
 * space between tokens.
 */
let lastBlock: usize = 0;
let hadSpace: bool = false;
/** Whether the previous record had white space between its tokens. */
let wasSpaced: bool = false;

/**
 * Finds the records in a piece of a file. A record is an object on its own line. Writes the start
 * and the end of each record to a list, and returns the end of the list. Writes to `NEXT` the
 * position of the first line that was not read. Sets `IS_CUT` if that line may continue beyond the
 * piece. Writes 80 zeros after the piece, because the last block may extend beyond its end.
 */
export function frameObjects(from: usize, end: usize, list: usize, listEnd: usize, separator: u32): usize {
  setVectors();
  for (let at: usize = 0; at < 80; at += 16) v128.store(end + at, i8x16.splat(0));
  store<u32>(IS_CUT, 0);
  while (from < end && list < listEnd) {
    let done: usize = wasSpaced ? 0 : plainObject(from, end);
    if (done == 0) {
      done = spacedObject(from, end, separator == CR);
      if (done == 0) {
        store<u32>(IS_CUT, (lastBlock + 64 >= end) as u32);
        break;
      }
      wasSpaced = hadSpace;
    }
    let next = done;
    const byte = byteAt(done);
    if (byte == CR && byteAt(done + 1) == LF) next = done + 2;
    else if (byte == separator) next = done + 1;
    else break;
    store<u32>(list, from as u32);
    store<u32>(list, done as u32, 4);
    list += 8;
    from = next;
  }
  store<u32>(NEXT, from as u32);
  return list;
}

function setVectors(): void {
  v128.store(VECTORS, i8x16.splat(QUOTE));
  v128.store(VECTORS, i8x16.splat(COMMA), 16);
  v128.store(VECTORS, i8x16.splat(COLON), 32);
  v128.store(VECTORS, i8x16.splat(BACKSLASH), 48);
  v128.store(VECTORS, i8x16.splat(BRACKET_BITS), 64);
  v128.store(VECTORS, i8x16.splat(ANY_BRACKET), 80);
  v128.store(VECTORS, i8x16.splat(SPACE), 96);
}

// The next two functions return the position after an object. They return 0 if the bytes are not an
// object, or if the object has no end.

/** Reads an object without white space between its tokens. Most objects are of this kind. */
function plainObject(start: usize, end: usize): usize {
  return afterObject(start, end, false, false);
}

function spacedObject(start: usize, end: usize, lineFeeds: bool): usize {
  return afterObject(start, end, true, lineFeeds);
}

// @ts-ignore
@inline
function afterObject(start: usize, end: usize, spaced: bool, lineFeeds: bool): usize {
  const quote = v128.load(VECTORS);
  const comma = v128.load(VECTORS, 16);
  const colon = v128.load(VECTORS, 32);
  const backslash = v128.load(VECTORS, 48);
  const bracketBits = v128.load(VECTORS, 64);
  const anyBracket = v128.load(VECTORS, 80);
  const space = v128.load(VECTORS, 96);
  // The state at the end of the previous block. In `inString` and `inObject`, all bits are set if
  // that block ended inside a string or an object. In the other variables, the lowest bit is set if
  // the last byte was of the kind that the name states.
  let inString: u64 = 0;
  let inObject: u64 = 0;
  let escapes: u64 = 0;
  let inKey: u64 = 0;
  let separated: u64 = 1;
  let objectSeparated: u64 = 0;
  let opened: u64 = 0;
  let keyEnded: u64 = 0;
  let inScalar: u64 = 0;
  /**
   * A stack of the open brackets. The innermost bracket is the lowest bit. A bit is set if its
   * bracket opens an object.
   */
  let stack: u64 = 0;
  let depth: u32 = 0;
  let anySpace: u64 = 0;
  if (spaced) lastBlock = start;
  if (byteAt(start) != OPEN_OBJECT) return 0;
  for (let block = start; block < end; block += 64) {
    if (spaced) lastBlock = block;
    const a = v128.load(block);
    const b = v128.load(block, 16);
    const c = v128.load(block, 32);
    const d = v128.load(block, 48);

    let escaped = escapes;
    const slashA = i8x16.eq(a, backslash);
    const slashB = i8x16.eq(b, backslash);
    const slashC = i8x16.eq(c, backslash);
    const slashD = i8x16.eq(d, backslash);
    if (v128.any_true(v128.or(v128.or(slashA, slashB), v128.or(slashC, slashD)))) {
      const slashes = bitsOf(slashA, slashB, slashC, slashD);
      // In a run of backslashes, only each backslash at an odd position (the first, the third, ...)
      // escapes the next byte. The carry of the subtraction finds the end of each run.
      const codes = ((((slashes & ~escapes) << 1) | ODD_BITS) - (slashes & ~escapes)) ^ ODD_BITS;
      escaped = codes ^ (slashes | escapes);
      escapes = (codes & slashes) >> 63;
    } else escapes = 0;

    const quotes = equal(a, b, c, d, quote) & ~escaped;
    // A bit for each byte of a string, from its opening quote up to its closing quote.
    const strings = parityOf(quotes) ^ inString;
    inString = ((strings as i64) >> 63) as u64;

    const brackets =
      equal(
        v128.or(a, bracketBits),
        v128.or(b, bracketBits),
        v128.or(c, bracketBits),
        v128.or(d, bracketBits),
        anyBracket,
      ) & ~strings;
    let opens: u64 = 0;
    let objectOpens: u64 = 0;
    /** A bit for each byte whose innermost bracket opens an object. */
    let objects = inObject;
    /** A bit for each byte up to the end of the record. */
    let valid: u64 = ~0;
    let done: usize = 0;
    for (let rest = brackets; rest != 0; ) {
      const bit = rest & -rest;
      const at = block + (ctz(rest) as usize);
      rest ^= bit;
      const byte = byteAt(at);
      const isObject = ((byte >> 5) & 1) as u64;
      const kind = byte & 6;
      if (kind == 2) {
        if (depth++ == MAX_DEPTH) return 0;
        stack = (stack << 1) | isObject;
        opens |= bit;
        objectOpens |= bit & -isObject;
      } else {
        // Four other bytes also match `anyBracket`: `Y`, `_`, `y` and DEL. Outside strings, none of
        // these is valid JSON.
        if (kind != 4 || (stack & 1) != isObject) return 0;
        stack >>= 1;
        if (--depth == 0) {
          valid = bit | (bit - 1);
          done = at + 1;
          break;
        }
      }
      const inside = -(stack & 1);
      objects ^= (inside ^ inObject) & -bit;
      inObject = inside;
    }

    const least = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d));
    if (v128.any_true(i8x16.lt_u(least, space))) {
      const controls =
        bitsOf(i8x16.lt_u(a, space), i8x16.lt_u(b, space), i8x16.lt_u(c, space), i8x16.lt_u(d, space)) & valid;
      if (!spaced) {
        if (controls != 0) return 0;
      } else if (controls != 0) {
        let allowed = equal(a, b, c, d, i8x16.splat(TAB));
        if (lineFeeds) allowed |= equal(a, b, c, d, i8x16.splat(LF as i8));
        if ((controls & (strings | ~allowed)) != 0) return 0;
      }
    }

    const outside = ~strings & valid;
    const commas = equal(a, b, c, d, comma) & outside;
    const colons = equal(a, b, c, d, colon) & outside;
    let white: u64 = 0;
    if (spaced) {
      white = bitsOf(i8x16.le_u(a, space), i8x16.le_u(b, space), i8x16.le_u(c, space), i8x16.le_u(d, space)) & outside;
      anySpace |= white;
    }
    // All remaining bytes must belong to numbers, `true`, `false` or `null`. `areScalars` below
    // reads each of these, and so detects any other byte.
    const scalars = outside & ~(quotes | brackets | commas | colons | white);
    const scalarStarts = scalars & ~((scalars << 1) | inScalar);
    inScalar = scalars >> 63;

    const separators = opens | commas | colons;
    let afterSeparators = (separators << 1) | separated;
    separated = separators >> 63;
    const objectSeparators = objectOpens | (commas & objects);
    let afterObjectSeparators = (objectSeparators << 1) | objectSeparated;
    objectSeparated = objectSeparators >> 63;
    let afterOpens = (opens << 1) | opened;
    opened = opens >> 63;
    if (spaced) {
      // Adding `white` moves each bit past the white space after it, because the carry runs through
      // the set bits.
      const sum = afterSeparators + white;
      separated |= (sum < white) as u64;
      afterSeparators = sum & ~white;
      const objectSum = afterObjectSeparators + white;
      objectSeparated |= (objectSum < white) as u64;
      afterObjectSeparators = objectSum & ~white;
      const openSum = afterOpens + white;
      opened |= (openSum < white) as u64;
      afterOpens = openSum & ~white;
    }

    // A key is a string after `{`, or after a comma in an object. The carry of the addition moves
    // the bit at the start of each key to the end of the key.
    const openQuotes = quotes & strings & valid;
    const texts = strings & valid;
    const keySum = texts + ((openQuotes & afterObjectSeparators) | inKey);
    inKey = (keySum < texts) as u64;
    const keyEnds = keySum & ~texts & valid;
    let afterKeys = (keyEnds << 1) | keyEnded;
    keyEnded = keyEnds >> 63;
    if (spaced) {
      const sum = afterKeys + white;
      keyEnded |= (sum < white) as u64;
      afterKeys = sum & ~white;
    }

    // A value or a key must follow each separator, and may start only there. The only exception is
    // an opening bracket with its closing bracket right after it.
    const others = opens | scalarStarts;
    const closes = brackets & ~opens & valid;
    const misplaced = ((openQuotes | others) ^ (afterSeparators & valid)) & ~(closes & afterOpens);
    const withoutKey = afterObjectSeparators & others;
    if ((misplaced | withoutKey | (colons ^ (afterKeys & valid))) != 0) return 0;
    if (scalarStarts != 0 && !areScalars(block, scalarStarts, spaced)) return 0;
    const escapedInTexts = escaped & texts;
    if (escapedInTexts != 0 && !areEscapes(block, escapedInTexts)) return 0;
    if (done != 0) {
      if (spaced) hadSpace = anySpace != 0;
      return done;
    }
  }
  return 0;
}

// @ts-ignore
@inline
function areScalars(block: usize, starts: u64, spaced: bool): bool {
  for (; starts != 0; starts &= starts - 1)
    if (!isScalar(block + (ctz(starts) as usize), spaced)) return false;
  return true;
}

// @ts-ignore
@inline
function isScalar(at: usize, spaced: bool): bool {
  const word = load<u32>(at);
  // The first four bytes of `null`, `true` and `false`.
  if (word == 0x6c6c756e || word == 0x65757274) at += 4;
  else if (word == 0x736c6166 && byteAt(at + 4) == 0x65) at += 5;
  else {
    if (byteAt(at) == MINUS) at++;
    if (byteAt(at) == 0x30) at++;
    else if ((at = afterDigits(at)) == 0) return false;
    if (byteAt(at) == 0x2e && (at = afterDigits(at + 1)) == 0) return false;
    if ((byteAt(at) | 0x20) == 0x65) {
      const sign = byteAt(++at);
      if (sign == 0x2b || sign == MINUS) at++;
      if ((at = afterDigits(at)) == 0) return false;
    }
  }
  const next = byteAt(at);
  if (next == (COMMA as u32) || next == CLOSE_OBJECT || next == CLOSE_ARRAY) return true;
  return spaced && next <= (SPACE as u32);
}

/** Returns the position after one or more digits, or 0 if there is no digit. */
// @ts-ignore
@inline
function afterDigits(at: usize): usize {
  if (byteAt(at) - 0x30 > 9) return 0;
  do at++;
  while (byteAt(at) - 0x30 <= 9);
  return at;
}

function areEscapes(block: usize, escaped: u64): bool {
  for (; escaped != 0; escaped &= escaped - 1) {
    const at = block + (ctz(escaped) as usize);
    const byte = byteAt(at);
    if (byte == 0x75) {
      if (!(isHex(at + 1) && isHex(at + 2) && isHex(at + 3) && isHex(at + 4))) return false;
    } else if (
      byte != 0x2f && byte != 0x6e && byte != (QUOTE as u32) && byte != (BACKSLASH as u32) &&
      byte != 0x72 && byte != 0x74 && byte != 0x62 && byte != 0x66
    )
      return false;
  }
  return true;
}

// @ts-ignore
@inline
function isHex(at: usize): bool {
  const byte = byteAt(at);
  return byte - 0x30 <= 9 || (byte | 0x20) - 0x61 <= 5;
}

/**
 * Sets each bit of the result to the parity of the given bits from the lowest bit up to that bit.
 * If the given bits are quotes, the result marks the bytes of strings.
 */
// @ts-ignore
@inline
function parityOf(bits: u64): u64 {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  return bits ^ (bits << 32);
}

// @ts-ignore
@inline
function equal(a: v128, b: v128, c: v128, d: v128, byte: v128): u64 {
  return bitsOf(i8x16.eq(a, byte), i8x16.eq(b, byte), i8x16.eq(c, byte), i8x16.eq(d, byte));
}

// @ts-ignore
@inline
function bitsOf(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    ((i8x16.bitmask(a) as u32) as u64) |
    (((i8x16.bitmask(b) as u32) as u64) << 16) |
    (((i8x16.bitmask(c) as u32) as u64) << 32) |
    (((i8x16.bitmask(d) as u32) as u64) << 48)
  );
}

// @ts-ignore
@inline
function byteAt(at: usize): u32 {
  return load<u8>(at) as u32;
}
