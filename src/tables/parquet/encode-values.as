// Encodes values in AssemblyScript. If these loops were JavaScript, V8 would take longer to compile them in
// every thread than they take to run. `npm run build:wasm` compiles this file to `encode-values-wasm.ts`.
// `value-encoder.ts` describes what this code does and how its memory is used. At least `MARGIN` bytes follow
// each area of memory, because a copy may write beyond the end of an area.

/**
 * The maximum size of the values in a page before compression. It is limited, because readers hold a whole
 * page in memory.
 */
const PAGE_BYTES: u32 = 1 << 20;
/** The size of the length that precedes each string in the encoding PLAIN. */
const LENGTH_BYTES: u32 = 4;

const TEXT: u32 = 0;
const BOOLEAN: u32 = 1;
const INT32: u32 = 2;
const INT64: u32 = 3;
const DOUBLE: u32 = 4;

// The type of the values in the current column, as a number from `scalars.ts`.
let kind: u32 = 0;
/** The size of a value in bytes, or 0 for strings. */
let width: u32 = 0;
let isList: bool = false;

// Addresses in memory.
let block: usize = 0;
let values: usize = 0;
let definitions: usize = 0;
let repetitions: usize = 0;
let runs: usize = 0;
let entries: usize = 0;
let slots: usize = 0;
let indexes: usize = 0;
let plain: usize = 0;

let rows: u32 = 0;
let count: u32 = 0;
let counts: usize = 0;
let lengths: usize = 0;
let data: usize = 0;
/** The index of the next row, and the index and address at which its values start. */
let row: u32 = 0;
let value: u32 = 0;
let at: usize = 0;

export function beginColumn(ofKind: u32, ofWidth: u32, hasLists: bool): void {
  kind = ofKind;
  width = ofWidth;
  isList = hasLists;
  hasBounds = false;
}

/**
 * Opens a block of the column. A block starts with the number of its rows, the number of its values and their
 * size in bytes. The data follows.
 */
export function openBlock(start: usize): void {
  block = start;
  rows = load<u32>(block);
  count = load<u32>(block, 4);
  counts = block + 12;
  lengths = counts + (rows << 2);
  data = lengths + (width == 0 ? count << 2 : 0);
  row = 0;
  value = 0;
  at = data;
}

// @ts-ignore
@inline
function lengthOf(index: u32): u32 {
  return width == 0 ? load<u32>(lengths + (index << 2)) : width;
}

/**
 * Copies `length` bytes, rounded up to a multiple of 16. Both places therefore need up to 15 more bytes after
 * them.
 */
// @ts-ignore
@inline
function copyBytes(from: usize, to: usize, length: u32): void {
  for (let byte: u32 = 0; byte < length; byte += 16)
    v128.store(to + byte, v128.load(from + byte));
}

/** The number of slots in the hash table of the sample, at least twice the number of values in the sample. */
const SAMPLE_SLOTS: u32 = 2048;
let sample: usize = 0;
let sampleSize: u32 = 0;
let sampleCount: u32 = 0;
let sampled: u32 = 0;
let passed: u32 = 0;
/** The total size of the values in the sample, and of the distinct values among them, in bytes. */
export let sampleBytes: u32 = 0;
export let differentBytes: u32 = 0;

export function beginSample(table: usize, size: u32, ofValues: u32): void {
  sample = table;
  sampleSize = size;
  sampleCount = ofValues;
  sampled = 0;
  passed = 0;
  sampleBytes = 0;
  differentBytes = 0;
  memory.fill(sample, 0, SAMPLE_SLOTS << 2);
}

/** Adds those values of the block that belong to the sample. The sample is spread over the whole column. */
export function sampleBlock(): void {
  while (sampled < sampleSize) {
    const index: u32 =
      sampleSize == 1 ? 0 : (((sampled as u64) * (sampleCount - 1)) / (sampleSize - 1)) as u32;
    if (index >= passed + count) break;
    while (value < index - passed) at += lengthOf(value++);
    addToSample(at, lengthOf(value));
    sampled++;
  }
  passed += count;
}

function addToSample(start: usize, length: u32): void {
  const bytes = length + (width == 0 ? LENGTH_BYTES : 0);
  sampleBytes += bytes;
  const hash = hashOf(start, length) | 1;
  let slot = (hash >> 1) & (SAMPLE_SLOTS - 1);
  for (;;) {
    const found = load<u32>(sample + (slot << 2));
    if (found == hash) return;
    if (found == 0) break;
    slot = (slot + 1) & (SAMPLE_SLOTS - 1);
  }
  store<u32>(sample + (slot << 2), hash);
  differentBytes += bytes;
}

function hashOf(start: usize, length: u32): u32 {
  const factor: u64 = 0x9e3779b97f4a7c15;
  let hash: u64 = (length as u64) * factor;
  let rest = length;
  for (; rest >= 8; rest -= 8, start += 8) {
    hash = (hash ^ load<u64>(start)) * factor;
    hash ^= hash >> 32;
  }
  if (rest > 0) {
    hash = (hash ^ (load<u64>(start) & maskOf(rest))) * factor;
    hash ^= hash >> 32;
  }
  return (hash ^ (hash >> 15)) as u32;
}

/** Returns a mask that selects the first bytes of a number. There must be fewer than eight bytes. */
// @ts-ignore
@inline
function maskOf(bytes: u32): u64 {
  return ((1 as u64) << ((bytes << 3) as u64)) - 1;
}

function isEqual(a: usize, b: usize, length: u32): bool {
  for (; length >= 8; length -= 8, a += 8, b += 8) if (load<u64>(a) != load<u64>(b)) return false;
  return length == 0 || ((load<u64>(a) ^ load<u64>(b)) & maskOf(length)) == 0;
}

// The dictionary: distinct values in the order in which they occur, and for each value the index of
// its entry.

/** The size of a dictionary entry, which has the hash, the length and the address of a value. */
const ENTRY_BYTES: u32 = 12;
const FIRST_SLOTS: u32 = 256;
/** The number of slots in the hash table of the dictionary, a power of two. */
let slotCount: u32 = 0;
let indexed: u32 = 0;
export let entryCount: u32 = 0;
/** The total size of the distinct values in the encoding PLAIN. */
export let plainBytes: u32 = 0;

export function beginDictionary(
  entriesAt: usize,
  slotsAt: usize,
  indexesAt: usize,
  plainAt: usize,
): void {
  entries = entriesAt;
  slots = slotsAt;
  indexes = indexesAt;
  plain = plainAt;
  slotCount = FIRST_SLOTS;
  indexed = 0;
  entryCount = 0;
  plainBytes = 0;
  memory.fill(slots, 0, slotCount << 2);
}

/**
 * Adds the values of the block to the dictionary. Returns `false` once the distinct values take more than
 * `maxBytes`.
 */
export function addBlock(maxBytes: u32): bool {
  for (let index: u32 = 0; index < count; index++) {
    const length = lengthOf(index);
    store<u32>(indexes + (indexed++ << 2), indexOf(at, length));
    at += length;
    if (plainBytes > maxBytes) return false;
  }
  return true;
}

/** Returns the dictionary index of a value. Adds the value if it is new. */
function indexOf(start: usize, length: u32): u32 {
  const hash = hashOf(start, length);
  let slot = hash & (slotCount - 1);
  for (;;) {
    const found = load<u32>(slots + (slot << 2));
    if (found == 0) break;
    const entry = entryAt(found - 1);
    if (load<u32>(entry) == hash && load<u32>(entry, 4) == length)
      if (isEqual(load<u32>(entry, 8) as usize, start, length)) return found - 1;
    slot = (slot + 1) & (slotCount - 1);
  }
  let to = plain + plainBytes;
  if (width == 0) {
    store<u32>(to, length);
    to += LENGTH_BYTES;
  }
  copyBytes(start, to, length);
  plainBytes = (to - plain + length) as u32;
  const index = entryCount++;
  const entry = entryAt(index);
  store<u32>(entry, hash);
  store<u32>(entry, length, 4);
  store<u32>(entry, to as u32, 8);
  store<u32>(slots + (slot << 2), entryCount);
  if ((entryCount << 1) > slotCount) growSlots();
  return index;
}

// @ts-ignore
@inline
function entryAt(index: u32): usize {
  return entries + index * ENTRY_BYTES;
}

function growSlots(): void {
  slotCount *= 2;
  memory.fill(slots, 0, slotCount << 2);
  for (let index: u32 = 0; index < entryCount; index++) {
    let slot = load<u32>(entryAt(index)) & (slotCount - 1);
    while (load<u32>(slots + (slot << 2)) != 0) slot = (slot + 1) & (slotCount - 1);
    store<u32>(slots + (slot << 2), index + 1);
  }
}

let hasBounds: bool = false;
let minimum: i64 = 0;
let maximum: i64 = 0;
let minimumDouble: f64 = 0;
let maximumDouble: f64 = 0;
/**
 * If the values are strings, the first bytes of each bound as a number. The numbers sort in the same order as
 * the strings.
 */
let minimumStart: u64 = 0;
let maximumStart: u64 = 0;
/**
 * How many bytes of a string to keep as a bound. This is one more than the statistics have, so that
 * `column-chunk.ts` recognises a string that was cut.
 */
const BOUND_BYTES: u32 = 65;
/** The address of the bounds, and the lengths of bounds that are strings. */
let bounds: usize = 0;
const MAXIMUM_OFFSET: usize = 96;
export let minimumLength: u32 = 0;
export let maximumLength: u32 = 0;

/**
 * Updates the bounds with the values of the block. The bounds are written to `place`: the minimum first, and
 * the maximum 96 bytes later.
 */
export function boundBlock(place: usize): void {
  bounds = place;
  let from = data;
  for (let index: u32 = 0; index < count; index++) {
    const length = lengthOf(index);
    bound(from, length);
    from += length;
  }
  storeBounds();
}

/** Updates the bounds with the distinct values in the dictionary. */
export function boundDictionary(place: usize): void {
  bounds = place;
  for (let index: u32 = 0; index < entryCount; index++) {
    const entry = entryAt(index);
    bound(load<u32>(entry, 8) as usize, load<u32>(entry, 4));
  }
  storeBounds();
}

// @ts-ignore
@inline
function bound(start: usize, length: u32): void {
  if (kind == TEXT) boundText(start, length);
  else if (kind == DOUBLE) boundDouble(load<f64>(start));
  else if (kind == INT64) boundNumber(load<i64>(start));
  else if (kind == INT32) boundNumber(load<i32>(start) as i64);
  else boundNumber(load<u8>(start) as i64);
}

function boundNumber(number: i64): void {
  if (!hasBounds || number < minimum) minimum = number;
  if (!hasBounds || number > maximum) maximum = number;
  hasBounds = true;
}

function boundDouble(number: f64): void {
  if (!hasBounds || number < minimumDouble) minimumDouble = number;
  if (!hasBounds || number > maximumDouble) maximumDouble = number;
  hasBounds = true;
}

function boundText(start: usize, length: u32): void {
  if (length > BOUND_BYTES) length = BOUND_BYTES;
  let first = load<u64>(start);
  if (length < 8) first &= maskOf(length);
  first = bswap(first);
  if (
    !hasBounds ||
    first < minimumStart ||
    (first == minimumStart && isBefore(start, length, bounds, minimumLength))
  ) {
    minimumStart = first;
    minimumLength = length;
    memory.copy(bounds, start, length);
  }
  if (
    !hasBounds ||
    first > maximumStart ||
    (first == maximumStart &&
      isBefore(bounds + MAXIMUM_OFFSET, maximumLength, start, length))
  ) {
    maximumStart = first;
    maximumLength = length;
    memory.copy(bounds + MAXIMUM_OFFSET, start, length);
  }
  hasBounds = true;
}

/** Compares two strings byte by byte, which gives the same order as comparing their code points. */
function isBefore(a: usize, aLength: u32, b: usize, bLength: u32): bool {
  const length = aLength < bLength ? aLength : bLength;
  for (let byte: u32 = 0; byte < length; byte++) {
    const left = load<u8>(a + byte);
    const right = load<u8>(b + byte);
    if (left != right) return left < right;
  }
  return aLength < bLength;
}

function storeBounds(): void {
  if (kind == TEXT || !hasBounds) return;
  if (kind == DOUBLE) {
    store<f64>(bounds, minimumDouble);
    store<f64>(bounds + MAXIMUM_OFFSET, maximumDouble);
  } else {
    store<i64>(bounds, minimum);
    store<i64>(bounds + MAXIMUM_OFFSET, maximum);
  }
}

let pageBytes: u32 = 0;
let pageFirst: u32 = 0;
let pageCount: u32 = 0;
let out: usize = 0;
export let pageRows: u32 = 0;
/**
 * The number of values in the page, including nulls, and the number of nulls. An empty list counts as one
 * value.
 */
export let pageLevels: u32 = 0;
export let pageNulls: u32 = 0;
/** The sizes in bytes of the parts that `endPage` has written. */
export let repetitionBytes: u32 = 0;
export let definitionBytes: u32 = 0;
export let valueBytes: u32 = 0;
/** Whether pages contain indices into the dictionary instead of values, and the width of an index in bits. */
let hasIndexes: bool = false;
let bitWidth: u32 = 0;

export function beginPages(
  valuesAt: usize,
  definitionsAt: usize,
  repetitionsAt: usize,
  runsAt: usize,
  indexBits: i32,
): void {
  values = valuesAt;
  definitions = definitionsAt;
  repetitions = repetitionsAt;
  runs = runsAt;
  hasIndexes = indexBits >= 0;
  bitWidth = indexBits as u32;
  pageFirst = 0;
  beginPage();
}

function beginPage(): void {
  pageBytes = 0;
  pageCount = 0;
  pageRows = 0;
  pageLevels = 0;
  pageNulls = 0;
  out = values;
}

/** Adds rows of the block to the page. Returns `true` if the page is full and the block has more rows. */
export function fillPage(): bool {
  for (; row < rows; row++) {
    // Each row counts as at least one byte. Nulls take little space in the file, but readers also hold the
    // levels of a page in memory.
    if (pageBytes + pageRows >= PAGE_BYTES) return true;
    const cell = load<u32>(counts + (row << 2));
    pageRows++;
    if (!isList) addLevel(cell == 0 ? 0 : 1, 0);
    else if (cell < 2) addLevel(cell, 0);
    else for (let element: u32 = 1; element < cell; element++) addLevel(2, element == 1 ? 0 : 1);
    if (cell < 2) pageNulls++;
    else for (let element: u32 = 1; element < cell; element++) addValue();
  }
  return false;
}

// @ts-ignore
@inline
function addLevel(definition: u32, repetition: u32): void {
  store<u32>(definitions + (pageLevels << 2), definition);
  if (isList) store<u32>(repetitions + (pageLevels << 2), repetition);
  pageLevels++;
}

// @ts-ignore
@inline
function addValue(): void {
  const index = pageCount++;
  if (hasIndexes) {
    pageBytes += 2;
    return;
  }
  const length = lengthOf(value++);
  if (kind == TEXT) {
    store<u32>(out, length);
    copyBytes(at, out + LENGTH_BYTES, length);
    out += LENGTH_BYTES + length;
    pageBytes += LENGTH_BYTES + length;
  } else {
    if (kind == BOOLEAN) {
      const byte = values + (index >> 3);
      const before: u32 = (index & 7) == 0 ? 0 : load<u8>(byte);
      store<u8>(byte, (before | ((load<u8>(at) as u32) << (index & 7))) as u8);
      out = byte + 1;
    } else {
      store<u64>(out, load<u64>(at));
      out += width;
    }
    pageBytes += width;
  }
  at += length;
}

/**
 * Writes the levels of the page. If the values of the page are dictionary indices, also writes the values.
 */
export function endPage(): void {
  let to = runs;
  if (isList) to = appendRuns(to, repetitions, 0, pageLevels, 1);
  repetitionBytes = (to - runs) as u32;
  to = appendRuns(to, definitions, 0, pageLevels, isList ? 2 : 1);
  definitionBytes = (to - runs) as u32 - repetitionBytes;
  if (hasIndexes) {
    store<u8>(values, bitWidth as u8);
    out = appendRuns(values + 1, indexes, pageFirst, pageFirst + pageCount, bitWidth);
    pageFirst += pageCount;
  }
  valueBytes = (out - values) as u32;
}

export function nextPage(): void {
  beginPage();
}

/**
 * Writes numbers in the hybrid encoding of Parquet: equal numbers as runs, all other numbers as packed bits.
 */
function appendRuns(to: usize, numbers: usize, from: u32, end: u32, bits: u32): usize {
  let packed = from;
  let index = from;
  while (index < end) {
    const number = load<u32>(numbers + (index << 2));
    let next = index + 1;
    while (next < end && load<u32>(numbers + (next << 2)) == number) next++;
    if (next - index < 8) {
      // Bits are packed in groups of eight values.
      index += 8;
      if (index > end) index = end;
      continue;
    }
    to = appendPacked(to, numbers, packed, index, bits);
    to = varint(to, 2 * (next - index));
    for (let shift: u32 = 0; shift < bits; shift += 8) store<u8>(to++, (number >> shift) as u8);
    index = next;
    packed = next;
  }
  return appendPacked(to, numbers, packed, end, bits);
}

function appendPacked(to: usize, numbers: usize, from: u32, end: u32, bits: u32): usize {
  if (from == end) return to;
  const groups = (end - from + 7) >> 3;
  to = varint(to, 2 * groups + 1);
  const after = to + groups * bits;
  let held: u64 = 0;
  let used: u32 = 0;
  for (let index = from; index < end; index++) {
    held |= (load<u32>(numbers + (index << 2)) as u64) << (used as u64);
    used += bits;
    if (used < 32) continue;
    store<u32>(to, held as u32);
    to += 4;
    held >>= 32;
    used -= 32;
  }
  for (; to < after; to += 4) {
    store<u32>(to, held as u32);
    held = 0;
  }
  return after;
}

function varint(to: usize, number: u32): usize {
  for (; number >= 0x80; number >>= 7) store<u8>(to++, ((number & 0x7f) | 0x80) as u8);
  store<u8>(to++, number as u8);
  return to;
}

// The raw Snappy format.

const MAX_TABLE_BITS: u32 = 14;
/**
 * The size of the pieces that are compressed independently. It is the same as in Google's library; positions
 * in a piece fit in 16 bits.
 */
const FRAGMENT_BYTES: usize = 1 << 16;
/**
 * Matches are not looked up within this many bytes of the end. Each look-up reads four bytes at once, and
 * also reads ahead.
 */
const SNAPPY_MARGIN: usize = 15;

/** The address of a table with the last position of each hash in a fragment. */
let table: usize = 0;

/**
 * Compresses bytes, and returns the end address of the result. `tableAt` is the address of memory for 16,384
 * numbers of 16 bits.
 */
export function snappy(from: usize, length: usize, to: usize, tableAt: usize): usize {
  table = tableAt;
  to = varint(to, length as u32);
  const end = from + length;
  for (; from < end; from += FRAGMENT_BYTES)
    to = compress(from, from + FRAGMENT_BYTES < end ? from + FRAGMENT_BYTES : end, to);
  return to;
}

function compress(start: usize, end: usize, to: usize): usize {
  const length = end - start;
  if (length < SNAPPY_MARGIN) return literal(start, end, to);
  let bits: u32 = 8;
  while (bits < MAX_TABLE_BITS && ((1 as u32) << bits) < (length as u32)) bits++;
  const shift = 32 - bits;
  memory.fill(table, 0, 2 << bits);
  const limit = end - SNAPPY_MARGIN;
  let emitted = start;
  let position = start + 1;
  while (position <= limit) {
    // The steps grow while nothing matches. Data that does not compress is thus processed quickly.
    let skip: usize = 32;
    let candidate = start;
    for (;;) {
      const word = load<u32>(position);
      const hash = table + (((word * 0x1e35a7bd) >> shift) << 1);
      candidate = start + load<u16>(hash);
      store<u16>(hash, (position - start) as u16);
      if (load<u32>(candidate) == word) break;
      position += skip++ >> 5;
      if (position > limit) return literal(emitted, end, to);
    }
    if (position > emitted) to = literal(emitted, position, to);
    const matchEnd = endOfMatch(candidate + 4, position + 4, end);
    to = copy((position - candidate) as u32, (matchEnd - position) as u32, to);
    // Adds the end of the match to the table. The bytes after a match often repeat the bytes after the earlier
    // occurrence.
    if (matchEnd <= limit)
      store<u16>(
        table + (((load<u32>(matchEnd - 1) * 0x1e35a7bd) >> shift) << 1),
        (matchEnd - 1 - start) as u16,
      );
    position = matchEnd;
    emitted = matchEnd;
  }
  return emitted < end ? literal(emitted, end, to) : to;
}

/** Returns the first address at which the bytes from `start` on differ from the bytes from `from` on. */
function endOfMatch(from: usize, start: usize, end: usize): usize {
  while (start + 8 <= end) {
    const different = load<u64>(start) ^ load<u64>(from);
    if (different != 0) return start + ((ctz(different) >> 3) as usize);
    start += 8;
    from += 8;
  }
  while (start < end && load<u8>(start) == load<u8>(from)) {
    start++;
    from++;
  }
  return start;
}

function literal(from: usize, end: usize, to: usize): usize {
  const length = (end - from) as u32;
  const last = length - 1;
  if (last < 60) store<u8>(to++, (last << 2) as u8);
  else if (last < 0x100) {
    store<u16>(to, (((60 << 2) as u32) | (last << 8)) as u16);
    to += 2;
  } else {
    store<u8>(to, 61 << 2);
    store<u16>(to + 1, last as u16);
    to += 3;
  }
  copyBytes(from, to, length);
  return to + length;
}

function copy(offset: u32, length: u32, to: usize): usize {
  // A copy has at most 64 bytes, and the last copy has at least four.
  for (; length >= 68; length -= 64) to = shortCopy(offset, 64, to);
  if (length > 64) {
    to = shortCopy(offset, 60, to);
    length -= 60;
  }
  return shortCopy(offset, length, to);
}

// @ts-ignore
@inline
function shortCopy(offset: u32, length: u32, to: usize): usize {
  if (length < 12 && offset < 2048) {
    store<u8>(to, (1 | ((length - 4) << 2) | ((offset >> 8) << 5)) as u8);
    store<u8>(to + 1, offset as u8);
    return to + 2;
  }
  store<u8>(to, (2 | ((length - 1) << 2)) as u8);
  store<u16>(to + 1, offset as u16);
  return to + 3;
}
