// Finds members of JSON documents in AssemblyScript, 16 bytes at a time. JavaScript reads one byte
// at a time, which takes as long as inflating the document. `npm run build:wasm` compiles this file
// to `find-members-wasm.ts`. `find-members.ts` describes what it does.

const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const COLON: u32 = 0x3a;
const BACKSLASH: u32 = 0x5c;
const AMPERSAND: u32 = 0x26;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;
/** The only bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT: u32 = 0x20;

/**
 * Flags in the end position of a string: `BEYOND_ASCII` if the string has characters beyond ASCII,
 * `ESCAPES` if it has escapes.
 */
const BEYOND_ASCII: u32 = 1 << 31;
const ESCAPES: u32 = 1 << 30;

// The layout of a wanted key in memory. The first eight bytes of the key are at offset 0. The other
// offsets are: the length of the key, the table of the members inside it (0 if there is none), the
// next key with the same hash, the address of its span, and all bytes of the key.
const KEY_LENGTH: usize = 8;
const KEY_MEMBERS: usize = 12;
const KEY_NEXT: usize = 16;
const KEY_SPAN: usize = 20;
const KEY_BYTES: usize = 24;

// The tables for `isUtf8`, and blocks of 16 equal bytes. They are in memory, because V8 recreates a
// constant each time it is used.
const BY_HIGH_BITS: usize = 0;
const BY_LOW_BITS: usize = 16;
const BY_NEXT: usize = 32;
const QUOTES: usize = 48;
const BACKSLASHES: usize = 64;
const COMMAS: usize = 80;
const AMPERSANDS: usize = 96;
const SPACES: usize = 112;
const BRACE_BITS: usize = 128;
const OPEN_OBJECTS: usize = 144;
const CLOSE_OBJECTS: usize = 160;

v128.store(QUOTES, i8x16.splat(QUOTE as i8));
v128.store(BACKSLASHES, i8x16.splat(BACKSLASH as i8));
v128.store(COMMAS, i8x16.splat(COMMA as i8));
v128.store(AMPERSANDS, i8x16.splat(AMPERSAND as i8));
v128.store(SPACES, i8x16.splat(0x20));
v128.store(BRACE_BITS, i8x16.splat(BRACE_BIT as i8));
v128.store(OPEN_OBJECTS, i8x16.splat(OPEN_OBJECT as i8));
v128.store(CLOSE_OBJECTS, i8x16.splat(CLOSE_OBJECT as i8));

// Addresses in memory; the same as in `find-members.ts`. Positions in the document and in the
// decoded bytes are relative to these addresses.
const DOCUMENT: usize = 64 * 1024;
const DECODED: usize = 6 * 64 * 1024;

/** The end of the document. Sixteen zeros follow it. */
let end: usize = 0;
/**
 * Whether the string that was read last has characters beyond ASCII and escapes, as the bits
 * `BEYOND_ASCII` and `ESCAPES`.
 */
let flags: u32 = 0;

/**
 * Writes the spans of the wanted members of a document. Returns 0 if the document is not an object,
 * or if only `JSON.parse` can decide whether it is valid.
 */
export function findMembers(length: usize, table: usize, spans: usize, bytes: usize): u32 {
  end = DOCUMENT + length;
  v128.store(end, i8x16.splat(0));
  clear(spans, bytes);
  let at = afterSpace(DOCUMENT);
  if (byteAt(at) != OPEN_OBJECT) return 0;
  at = afterObject(at, table);
  return at != 0 && afterSpace(at) == end ? 1 : 0;
}

/**
 * Finds the wanted members of an array element. Starts after the opening bracket or a comma. If the
 * element is a string, writes its span as the first span. Returns the position of what follows the
 * element: a comma or the closing bracket. Returns 0 for an element of any other type.
 */
export function findInElement(at: usize, table: usize, spans: usize, bytes: usize): usize {
  clear(spans, bytes);
  at = afterSpace(DOCUMENT + at);
  const first = byteAt(at);
  if (first == QUOTE && table == 0) {
    flags = 0;
    const start = at;
    at = afterText(at + 1);
    storeSpan(spans, start, at);
  } else if (first == OPEN_OBJECT && table != 0) at = afterObject(at, table);
  else return 0;
  return at == 0 ? 0 : afterSpace(at) - DOCUMENT;
}

/** Sets spans to 0. For so few bytes, calling `memory.fill` would take longer than this loop. */
// @ts-ignore
@inline
function clear(spans: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 8) store<u64>(spans + at, 0);
}

// @ts-ignore
@inline
function storeSpan(span: usize, start: usize, after: usize): void {
  store<u32>(span, (start - DOCUMENT) as u32);
  store<u32>(span, ((after - DOCUMENT) as u32) | flags, 4);
}

// The modes of `decodeText`, which are bit flags. They are the same as in `DECODED` in `find-members.ts`.
const ENTITIES: u32 = 1;
const FIELD: u32 = 2;
const ELEMENT: u32 = 4;

const CR: u32 = 0x0d;
const LF: u32 = 0x0a;

/**
 * The position at which `decodeText` writes next. `isQuoted` tells whether the CSV field needs
 * quotes.
 */
let out: usize = 0;
let isQuoted: bool = false;

/**
 * Decodes the string between two quotes of the document to UTF-8. Writes it at a position in the
 * memory for decoded bytes, and returns the position after it. Returns -1 if the string is invalid
 * or cannot be decoded here. Before the string, writes the prefix unchanged. The prefix is other
 * bytes of the document, and must not contain quotes or commas.
 */
export function decodeText(
  from: usize,
  to: usize,
  at: usize,
  mode: u32,
  prefix: usize,
  prefixEnd: usize,
): i32 {
  const start = DECODED + at;
  const after = decode(DOCUMENT + from, DOCUMENT + to, start, mode, DOCUMENT + prefix, prefixEnd - prefix);
  return after == 0 ? -1 : ((after - DECODED) as i32);
}

/** Does the same as `decodeText`, but takes and returns addresses. Returns 0 instead of -1. */
// @ts-ignore
@inline
function decode(
  from: usize,
  to: usize,
  start: usize,
  mode: u32,
  prefix: usize,
  prefixBytes: usize,
): usize {
  out = start;
  isQuoted = false;
  if (prefixBytes != 0) memory.copy(out, prefix, prefixBytes);
  out += prefixBytes;
  if ((mode & ELEMENT) != 0) putQuotes();
  const backslash = v128.load(BACKSLASHES);
  const ampersand = v128.load((mode & ENTITIES) != 0 ? AMPERSANDS : BACKSLASHES);
  const comma = v128.load(COMMAS);
  /**
   * All blocks, combined by `or`. If no byte of the result is beyond ASCII, no block has a byte
   * beyond ASCII.
   */
  let all = i8x16.splat(0);
  for (let at = from; at < to; ) {
    const block = v128.load(at);
    v128.store(out, block);
    all = v128.or(all, block);
    const special = i8x16.bitmask(
      v128.or(i8x16.eq(block, backslash), i8x16.eq(block, ampersand)),
    );
    let count: u32 = special == 0 ? 16 : ctz(special);
    if (count > ((to - at) as u32)) count = (to - at) as u32;
    const commas = i8x16.bitmask(i8x16.eq(block, comma));
    if ((commas & ((1 << count) - 1)) != 0) isQuoted = true;
    at += count;
    out += count;
    if (at >= to || count == 16) continue;
    at = byteAt(at) == BACKSLASH ? decodeEscape(at, to, mode) : decodeEntity(at, to);
    if (at == 0) return 0;
  }
  if (i8x16.bitmask(all) != 0 && !isUtf8(from, to)) return 0;
  if ((mode & ELEMENT) != 0) putQuotes();
  if ((mode & FIELD) == 0 || (!isQuoted && out != start)) return out;
  memory.copy(start + 1, start, out - start);
  store<u8>(start, QUOTE as u8);
  out++;
  putByte(QUOTE);
  return out;
}

// @ts-ignore
@inline
function putByte(byte: u32): void {
  store<u8>(out++, byte as u8);
}

/** Writes the quote of a JSON string in a CSV field, where a quote is doubled. */
function putQuotes(): void {
  putByte(QUOTE);
  putByte(QUOTE);
}

// The possible errors in a pair of adjacent bytes. A pair has an error if all three tables contain
// that error for the pair.
const NO_CONTINUATION: u32 = 1;
const NO_LEAD: u32 = 2;
const TOO_LONG_3: u32 = 4;
const TOO_LARGE: u32 = 8;
const SURROGATE: u32 = 16;
const TOO_LONG_2: u32 = 32;
/**
 * A character of four bytes that is overlong or too large. The low bits of its first byte show
 * this.
 */
const TOO_LONG_4: u32 = 64;
/**
 * Two continuation bytes in a row. Not an error if the second one is the third or fourth byte of a
 * character.
 */
const TWO_CONTINUATIONS: u32 = 128;

function setTable(table: usize, first: usize, last: usize, errors: u32): void {
  for (let value = first; value <= last; value++) store<u8>(table + value, errors as u8);
}

setTable(BY_HIGH_BITS, 0x0, 0x7, NO_LEAD);
setTable(BY_HIGH_BITS, 0x8, 0xb, TWO_CONTINUATIONS);
setTable(BY_HIGH_BITS, 0xc, 0xc, NO_CONTINUATION | TOO_LONG_2);
setTable(BY_HIGH_BITS, 0xd, 0xd, NO_CONTINUATION);
setTable(BY_HIGH_BITS, 0xe, 0xe, NO_CONTINUATION | TOO_LONG_3 | SURROGATE);
setTable(BY_HIGH_BITS, 0xf, 0xf, NO_CONTINUATION | TOO_LARGE | TOO_LONG_4);

const BY_ANY_LOW: u32 = NO_CONTINUATION | NO_LEAD | TWO_CONTINUATIONS;
setTable(BY_LOW_BITS, 0x0, 0x0, BY_ANY_LOW | TOO_LONG_2 | TOO_LONG_3 | TOO_LONG_4);
setTable(BY_LOW_BITS, 0x1, 0x1, BY_ANY_LOW | TOO_LONG_2);
setTable(BY_LOW_BITS, 0x2, 0x3, BY_ANY_LOW);
setTable(BY_LOW_BITS, 0x4, 0x4, BY_ANY_LOW | TOO_LARGE);
setTable(BY_LOW_BITS, 0x5, 0xf, BY_ANY_LOW | TOO_LARGE | TOO_LONG_4);
setTable(BY_LOW_BITS, 0xd, 0xd, BY_ANY_LOW | TOO_LARGE | TOO_LONG_4 | SURROGATE);

const BY_ANY_CONTINUATION: u32 = NO_LEAD | TOO_LONG_2 | TWO_CONTINUATIONS;
setTable(BY_NEXT, 0x0, 0xf, NO_CONTINUATION);
setTable(BY_NEXT, 0x8, 0x8, BY_ANY_CONTINUATION | TOO_LONG_3 | TOO_LONG_4);
setTable(BY_NEXT, 0x9, 0x9, BY_ANY_CONTINUATION | TOO_LONG_3 | TOO_LARGE);
setTable(BY_NEXT, 0xa, 0xb, BY_ANY_CONTINUATION | SURROGATE | TOO_LARGE);

const INDEXES: v128 = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/**
 * Returns whether bytes are UTF-8. Reads sixteen bytes at a time, by the method of Keiser and
 * Lemire ("Validating UTF-8 in less than one instruction per byte", 2021). Three tables tell what
 * is wrong with a pair of bytes. Two tables are for the high and the low bits of the first byte.
 * The third is for the high bits of the second byte. The tables cannot tell whether two
 * continuation bytes in a row are the third and fourth bytes of a character. This depends on the
 * bytes two and three places earlier, which are compared separately.
 */
function isUtf8(from: usize, to: usize): bool {
  const byHighBits = v128.load(BY_HIGH_BITS);
  const byLowBits = v128.load(BY_LOW_BITS);
  const byNext = v128.load(BY_NEXT);
  let errors = i8x16.splat(0);
  let last = i8x16.splat(0);
  // Bytes after `to` are replaced by zeros. The zeros show whether the last character is complete.
  for (let at = from; at <= to; at += 16) {
    let block = v128.load(at);
    if (to - at < 16)
      block = v128.and(block, i8x16.lt_u(INDEXES, i8x16.splat((to - at) as i8)));
    const before = i8x16.shuffle(last, block, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
    const before2 = i8x16.shuffle(last, block, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29);
    const before3 = i8x16.shuffle(last, block, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28);
    const ofPairs = v128.and(
      v128.and(
        i8x16.swizzle(byHighBits, i8x16.shr_u(before, 4)),
        i8x16.swizzle(byLowBits, v128.and(before, i8x16.splat(0x0f))),
      ),
      i8x16.swizzle(byNext, i8x16.shr_u(block, 4)),
    );
    const isThirdOrFourth = v128.and(
      v128.or(
        i8x16.ge_u(before2, i8x16.splat(0xe0 as i8)),
        i8x16.ge_u(before3, i8x16.splat(0xf0 as i8)),
      ),
      i8x16.splat(TWO_CONTINUATIONS as i8),
    );
    errors = v128.or(errors, v128.xor(ofPairs, isThirdOrFourth));
    last = block;
  }
  return !v128.any_true(errors);
}

// Each of the following functions returns the position after what it has read, or 0.

function decodeEntity(from: usize, to: usize): usize {
  let byte: u32 = AMPERSAND;
  let length: usize = 1;
  if (from + 4 <= to && (load<u32>(from) == 0x3b746c26 || load<u32>(from) == 0x3b746726)) {
    byte = byteAt(from + 1) == 0x6c ? 0x3c : 0x3e;
    length = 4;
  } else if (from + 5 <= to && load<u32>(from) == 0x706d6126 && byteAt(from + 4) == 0x3b)
    length = 5;
  else
    // The rest of the entity may be written with escapes. This function does not decode such an
    // entity.
    for (let at = from + 1; at < to && at < from + 5; at++) if (byteAt(at) == BACKSLASH) return 0;
  putByte(byte);
  return from + length;
}

function decodeEscape(from: usize, to: usize, mode: u32): usize {
  const letter = byteAt(from + 1);
  let point = letter;
  if (letter == 0x75) {
    point = fourDigits(from + 2, to);
    from += 6;
    if (point >= 0xd800 && point < 0xe000) {
      // Half of a surrogate pair is not a valid character.
      if (point >= 0xdc00 || load<u16>(from) != 0x755c) return 0;
      const low = fourDigits(from + 2, to);
      if (low < 0xdc00 || low >= 0xe000) return 0;
      point = 0x10000 + ((point & 0x3ff) << 10) + (low & 0x3ff);
      from += 6;
    }
    if (point > 0x10ffff) return 0;
  } else {
    from += 2;
    if (letter == 0x6e) point = LF;
    else if (letter == 0x72) point = CR;
    else if (letter == 0x74) point = 0x09;
    else if (letter == 0x62) point = 0x08;
    else if (letter == 0x66) point = 0x0c;
    else if (letter != QUOTE && letter != BACKSLASH && letter != 0x2f) return 0;
  }
  if (from > to) return 0;
  if (point < 0x80) return putAscii(point, mode) ? from : 0;
  if (point < 0x800) putByte(0xc0 | (point >> 6));
  else {
    if (point < 0x10000) putByte(0xe0 | (point >> 12));
    else {
      putByte(0xf0 | (point >> 18));
      putByte(0x80 | ((point >> 12) & 0x3f));
    }
    putByte(0x80 | ((point >> 6) & 0x3f));
  }
  putByte(0x80 | (point & 0x3f));
  return from;
}

/**
 * Returns the number that four hexadecimal digits represent. If they are not hexadecimal digits,
 * returns a number above all code points.
 */
function fourDigits(at: usize, to: usize): u32 {
  const none: u32 = 0x110000;
  if (at + 4 > to) return none;
  let number: u32 = 0;
  for (let end = at + 4; at < end; at++) {
    const byte = byteAt(at);
    const letter = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) number = (number << 4) | (byte - 0x30);
    else if (letter >= 0x61 && letter <= 0x66) number = (number << 4) | (letter - 0x57);
    else return none;
  }
  return number;
}

/**
 * Writes an ASCII character that was escaped in the document. Returns false if the string must be
 * decoded in another way.
 */
function putAscii(byte: u32, mode: u32): bool {
  // An escaped ampersand may be the start of an entity.
  if (byte == AMPERSAND && (mode & ENTITIES) != 0) return false;
  if ((mode & ELEMENT) != 0) {
    // In a JSON list, control characters need escapes, which this function does not write.
    if (byte < 0x20) return false;
    if (byte == QUOTE || byte == BACKSLASH) putByte(BACKSLASH);
    if (byte == QUOTE) putByte(QUOTE);
  } else if ((mode & FIELD) != 0) {
    if (byte == QUOTE) putByte(QUOTE);
    if (byte == QUOTE || byte == COMMA || byte == CR || byte == LF) isQuoted = true;
  }
  putByte(byte);
  return true;
}

// Each of the following functions returns the position after the value that starts at `at`, or 0.

function afterObject(at: usize, table: usize): usize {
  at = afterSpace(at + 1);
  if (byteAt(at) == CLOSE_OBJECT) return at + 1;
  while (true) {
    if (byteAt(at) != QUOTE) return 0;
    const key = at + 1;
    at = quoteOrBackslash(key);
    // If keys have escapes, `JSON.parse` has to read the document.
    if (at == 0 || byteAt(at) != QUOTE) return 0;
    const entry = entryOf(table, key, (at - key) as u32);
    at = afterSpace(at + 1);
    if (byteAt(at) != COLON) return 0;
    at = afterSpace(at + 1);
    at = entry == 0 ? afterValue(at) : afterWanted(at, entry);
    if (at == 0) return 0;
    at = afterSpace(at);
    const next = byteAt(at);
    if (next == CLOSE_OBJECT) return at + 1;
    if (next != COMMA) return 0;
    at = afterSpace(at + 1);
  }
}

function afterWanted(start: usize, entry: usize): usize {
  const span = load<u32>(entry, KEY_SPAN) as usize;
  const members = load<u32>(entry, KEY_MEMBERS) as usize;
  const first = byteAt(start);
  // If several members have the same key, only the last one counts. Only `JSON.parse` can read such
  // a document.
  if (load<u32>(span) != 0) return 0;
  let at: usize;
  flags = 0;
  if (first == QUOTE) at = afterText(start + 1);
  else if (first == OPEN_OBJECT && members != 0) {
    at = afterObject(start, members);
    flags = 0;
  } else at = afterValue(start);
  storeSpan(span, start, at);
  return at;
}

// @ts-ignore
@inline
function entryOf(table: usize, key: usize, length: u32): usize {
  let prefix = load<u64>(key);
  if (length < 8) prefix &= ((1 as u64) << (length << 3)) - 1;
  const slot = ((prefix * 0x9e3779b97f4a7c15) >> 58) as usize;
  let entry = load<u32>(table + (slot << 2)) as usize;
  while (entry != 0) {
    if (load<u64>(entry) == prefix && load<u32>(entry, KEY_LENGTH) == length) {
      let at: u32 = 8;
      while (at < length && load<u8>(key + at) == load<u8>(entry + KEY_BYTES + at)) at++;
      if (at >= length) return entry;
    }
    entry = load<u32>(entry, KEY_NEXT) as usize;
  }
  return 0;
}

/**
 * Reads a wanted string, starting after its opening quote. Returns 0 at a control character.
 * `JSON.parse` then reads the document and reports the error.
 */
function afterText(at: usize): usize {
  let beyondAscii: u32 = 0;
  while (at < end) {
    const block = v128.load(at);
    const found = endsOfText(block);
    const below: u32 = found == 0 ? 0xffff : (1 << ctz(found)) - 1;
    if ((i8x16.bitmask(i8x16.lt_u(block, v128.load(SPACES))) & below) != 0) return 0;
    beyondAscii |= i8x16.bitmask(block) & below;
    if (found == 0) {
      at += 16;
      continue;
    }
    at += ctz(found);
    if (byteAt(at) == QUOTE) {
      if (beyondAscii != 0) flags |= BEYOND_ASCII;
      return at + 1;
    }
    flags |= ESCAPES;
    at += 2;
  }
  return 0;
}

function afterString(at: usize): usize {
  while (true) {
    at = quoteOrBackslash(at);
    if (at == 0) return 0;
    if (byteAt(at) == QUOTE) return at + 1;
    at += 2;
  }
}

/**
 * Skips an object or array. Brackets are counted but not matched, because skipped values are not
 * validated.
 */
function afterContainer(at: usize): usize {
  let depth: i32 = 0;
  while (at < end) {
    const block = v128.load(at);
    const brackets = v128.or(block, v128.load(BRACE_BITS));
    const found = i8x16.bitmask(
      v128.or(
        i8x16.eq(block, v128.load(QUOTES)),
        v128.or(
          i8x16.eq(brackets, v128.load(OPEN_OBJECTS)),
          i8x16.eq(brackets, v128.load(CLOSE_OBJECTS)),
        ),
      ),
    );
    if (found == 0) {
      at += 16;
      continue;
    }
    at += ctz(found);
    const byte = byteAt(at++);
    if (byte == QUOTE) {
      at = afterString(at);
      if (at == 0) return 0;
    } else if ((byte | BRACE_BIT) == OPEN_OBJECT) depth++;
    else if (--depth == 0) return at;
  }
  return 0;
}

// @ts-ignore
@inline
function afterValue(at: usize): usize {
  const first = byteAt(at);
  if (first == QUOTE) return afterString(at + 1);
  if ((first | BRACE_BIT) == OPEN_OBJECT) return afterContainer(at);
  const after = afterScalar(at);
  return after == at ? 0 : after;
}

/**
 * Returns the position after a number or a word. It ends before the first byte that is not a
 * letter, a digit, a plus sign, a minus sign or a dot.
 */
// @ts-ignore
@inline
function afterScalar(at: usize): usize {
  while (true) {
    const block = v128.load(at);
    const letters = i8x16.sub(v128.or(block, i8x16.splat(0x20)), i8x16.splat(0x61));
    const digits = i8x16.sub(block, i8x16.splat(0x30));
    const isPart = v128.or(
      v128.or(i8x16.lt_u(letters, i8x16.splat(26)), i8x16.lt_u(digits, i8x16.splat(10))),
      v128.or(
        v128.or(i8x16.eq(block, i8x16.splat(0x2b)), i8x16.eq(block, i8x16.splat(0x2d))),
        i8x16.eq(block, i8x16.splat(0x2e)),
      ),
    );
    const others = i8x16.bitmask(isPart) ^ 0xffff;
    if (others != 0) return at + ctz(others);
    at += 16;
  }
}

/** Skips white space. Most documents have none here, so the first comparison returns at once. */
// @ts-ignore
@inline
function afterSpace(at: usize): usize {
  while (true) {
    const byte = byteAt(at);
    if (byte > 0x20 || (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09)) return at;
    at++;
  }
}

// @ts-ignore
@inline
function quoteOrBackslash(at: usize): usize {
  while (at < end) {
    const found = endsOfText(v128.load(at));
    if (found != 0) return at + ctz(found);
    at += 16;
  }
  return 0;
}

// @ts-ignore
@inline
function endsOfText(block: v128): u32 {
  return i8x16.bitmask(
    v128.or(
      i8x16.eq(block, v128.load(QUOTES)),
      i8x16.eq(block, v128.load(BACKSLASHES)),
    ),
  );
}

// @ts-ignore
@inline
function byteAt(at: usize): u32 {
  return load<u8>(at) as u32;
}
