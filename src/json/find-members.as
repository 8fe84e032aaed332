// AssemblyScript: JavaScript reads one byte at a time, which takes as long as inflating it; this reads sixteen.
// `npm run build:wasm` compiles it to `find-members-wasm.ts`; `member-spans.ts` describes what it does.

const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const COLON: u32 = 0x3a;
const BACKSLASH: u32 = 0x5c;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;
/** The one bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT: u32 = 0x20;

/** In the end of a string: whether it has characters beyond ASCII, and escapes. */
const BEYOND_ASCII: u32 = 1 << 31;
const ESCAPES: u32 = 1 << 30;

// A wanted key: its first eight bytes, its length, the table of its members (0: none), the next key of the same hash,
// where its span goes, and its bytes.
const KEY_LENGTH: usize = 8;
const KEY_MEMBERS: usize = 12;
const KEY_NEXT: usize = 16;
const KEY_SPAN: usize = 20;
const KEY_BYTES: usize = 24;

/** The end of the document. Sixteen zeros follow it. */
let end: usize = 0;
/** `BEYOND_ASCII` and `ESCAPES` of the string that was read last. */
let flags: u32 = 0;

/** Writes the spans of the wanted members of a document; 0 where it is no object, or `JSON.parse` has to decide. */
export function findMembers(document: usize, length: usize, table: usize, spans: usize, bytes: usize): u32 {
  end = document + length;
  v128.store(end, i8x16.splat(0));
  memory.fill(spans, 0, bytes);
  let at = afterSpace(document);
  if (byteAt(at) != OPEN_OBJECT) return 0;
  at = afterObject(at, table);
  return at != 0 && afterSpace(at) == end ? 1 : 0;
}

/** The number of opening brackets, strings included. */
export function countOpenings(document: usize, length: usize): u32 {
  v128.store(document + length, i8x16.splat(0));
  let count: u32 = 0;
  for (let at = document; at < document + length; at += 16) {
    const block = v128.or(v128.load(at), i8x16.splat(BRACE_BIT as i8));
    count += popcnt(i8x16.bitmask(i8x16.eq(block, i8x16.splat(OPEN_OBJECT as i8))));
  }
  return count;
}

// Each of these returns the position after what starts at `at`, or 0.

function afterObject(at: usize, table: usize): usize {
  at = afterSpace(at + 1);
  if (byteAt(at) == CLOSE_OBJECT) return at + 1;
  while (true) {
    if (byteAt(at) != QUOTE) return 0;
    const key = at + 1;
    at = quoteOrBackslash(key);
    // A key with escapes is left to `JSON.parse`.
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
  // Of members with the same key, the last one counts, and only that.
  if (load<u32>(span) != 0) return 0;
  let at: usize;
  flags = 0;
  if (first == QUOTE) at = afterText(start + 1);
  else if (first == OPEN_OBJECT && members != 0) {
    at = afterObject(start, members);
    flags = 0;
  } else at = afterValue(start);
  store<u32>(span, start as u32);
  store<u32>(span, (at as u32) | flags, 4);
  return at;
}

/** The entry of a key in a table of wanted keys, or 0. */
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

/** From after the opening quote of a string that is wanted. A control character is an error that `JSON.parse` reports. */
function afterText(at: usize): usize {
  let beyondAscii: u32 = 0;
  while (at < end) {
    const block = v128.load(at);
    const found = endsOfText(block);
    const below: u32 = found == 0 ? 0xffff : (1 << ctz(found)) - 1;
    if ((i8x16.bitmask(i8x16.lt_u(block, i8x16.splat(0x20))) & below) != 0) return 0;
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

/** Brackets are counted, not matched: skipped values are not validated. */
function afterContainer(at: usize): usize {
  let depth: i32 = 0;
  while (at < end) {
    const block = v128.load(at);
    const brackets = v128.or(block, i8x16.splat(BRACE_BIT as i8));
    const found = i8x16.bitmask(
      v128.or(
        i8x16.eq(block, i8x16.splat(QUOTE as i8)),
        v128.or(
          i8x16.eq(brackets, i8x16.splat(OPEN_OBJECT as i8)),
          i8x16.eq(brackets, i8x16.splat(CLOSE_OBJECT as i8)),
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

/** Letters, digits, plus, minus and dot. */
// @ts-ignore
@inline
function afterScalar(at: usize): usize {
  while (true) {
    const byte = byteAt(at);
    const isPart =
      byte < 0x41
        ? (byte >= 0x30 && byte <= 0x39) || byte == 0x2b || byte == 0x2d || byte == 0x2e
        : (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
    if (!isPart) return at;
    at++;
  }
}

// @ts-ignore
@inline
function afterSpace(at: usize): usize {
  let byte = byteAt(at);
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = byteAt(++at);
  return at;
}

/** The position of the next quote or backslash, or 0. */
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
      i8x16.eq(block, i8x16.splat(QUOTE as i8)),
      i8x16.eq(block, i8x16.splat(BACKSLASH as i8)),
    ),
  );
}

// @ts-ignore
@inline
function byteAt(at: usize): u32 {
  return load<u8>(at) as u32;
}
