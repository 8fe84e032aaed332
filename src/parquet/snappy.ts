import { ByteWriter } from './byte-writer.js';

const MAX_TABLE_BITS = 14;
/**
 * Each piece of this size is compressed by itself, as in the library of the format: positions fit in 16 bits. Code that
 * is called often is also optimised once, while a loop over a whole page is optimised before its end is known, and again.
 */
const FRAGMENT_BYTES = 1 << 16;
/** The end is never looked up: four bytes are read at a time, and a lookup looks ahead. */
const MARGIN = 15;
/** Shorter literals are copied byte by byte: a call takes longer. */
const MAX_LOOP = 48;

/** The last position of each hash in a fragment. */
const table = new Uint16Array(1 << MAX_TABLE_BITS);

/** The size that compressed bytes may have. */
function maxSize(length: number): number {
  return 32 + length + Math.floor(length / 6);
}

const reused = new ByteWriter();

/**
 * Compresses in the raw Snappy format. The result is valid until the next call: new memory for each page costs much.
 * Libraries in JavaScript take several times as long.
 */
export function snappy(input: Uint8Array): Uint8Array {
  const { length } = input;
  // Of one class, whatever it is given: V8 optimises what follows for each.
  const bytes = Buffer.from(input.buffer, input.byteOffset, length);
  const view = new DataView(input.buffer, input.byteOffset, length);
  reused.length = 0;
  reused.varint(length);
  const out = reused.reserve(maxSize(length));
  for (let from = 0; from < length; from += FRAGMENT_BYTES) {
    const to = Math.min(from + FRAGMENT_BYTES, length);
    reused.length = compress(bytes, view, from, to, out, reused.length);
  }
  return reused.bytes;
}

/** Compresses the bytes from `start` to `end`, and returns where they end in `out`. */
function compress(
  input: Buffer,
  view: DataView,
  start: number,
  end: number,
  out: Buffer,
  outStart: number,
): number {
  const length = end - start;
  let at = outStart;
  if (length < MARGIN) return literal(input, start, end, out, at);
  let bits = 8;
  while (bits < MAX_TABLE_BITS && 1 << bits < length) bits++;
  const shift = 32 - bits;
  table.fill(0, 0, 1 << bits);
  const limit = end - MARGIN;
  let emitted = start;
  let position = start + 1;
  while (position <= limit) {
    // The longer nothing matches, the larger the steps.
    let skip = 32;
    let candidate = start;
    for (;;) {
      const word = view.getInt32(position, true);
      const hash = Math.imul(word, 0x1e35a7bd) >>> shift;
      candidate = start + table[hash]!;
      table[hash] = position - start;
      if (view.getInt32(candidate, true) === word) break;
      position += skip++ >>> 5;
      if (position > limit) return literal(input, emitted, end, out, at);
    }
    if (position > emitted) at = literal(input, emitted, position, out, at);
    const matchEnd = endOfMatch(view, candidate + 4, position + 4, end);
    at = copy(position - candidate, matchEnd - position, out, at);
    // What follows the match is likely to match what followed it before.
    if (matchEnd <= limit)
      table[Math.imul(view.getInt32(matchEnd - 1, true), 0x1e35a7bd) >>> shift] =
        matchEnd - 1 - start;
    position = matchEnd;
    emitted = matchEnd;
  }
  return emitted < end ? literal(input, emitted, end, out, at) : at;
}

/** Where the bytes from `start` on no longer equal those from `from` on. */
function endOfMatch(view: DataView, from: number, start: number, end: number): number {
  let at = start;
  let other = from;
  while (at + 4 <= end && view.getInt32(at, true) === view.getInt32(other, true)) {
    at += 4;
    other += 4;
  }
  while (at < end && view.getUint8(at) === view.getUint8(other)) {
    at++;
    other++;
  }
  return at;
}

function literal(input: Buffer, from: number, to: number, out: Buffer, start: number): number {
  let at = start;
  const last = to - from - 1;
  if (last < 60) out[at++] = last << 2;
  else {
    const size = last < 0x100 ? 1 : 2;
    out[at++] = (59 + size) << 2;
    for (let byte = 0; byte < size; byte++) out[at++] = last >>> (8 * byte);
  }
  if (last < MAX_LOOP) for (let index = from; index < to; index++) out[at++] = input[index]!;
  else {
    out.set(input.subarray(from, to), at);
    at += to - from;
  }
  return at;
}

function copy(offset: number, length: number, out: Buffer, start: number): number {
  let at = start;
  let rest = length;
  // A copy has at most 64 bytes, and a rest of at least four.
  while (rest >= 68) {
    at = shortCopy(offset, 64, out, at);
    rest -= 64;
  }
  if (rest > 64) {
    at = shortCopy(offset, 60, out, at);
    rest -= 60;
  }
  return shortCopy(offset, rest, out, at);
}

function shortCopy(offset: number, length: number, out: Buffer, start: number): number {
  let at = start;
  if (length < 12 && offset < 2048) {
    out[at++] = 1 | ((length - 4) << 2) | ((offset >>> 8) << 5);
    out[at++] = offset;
    return at;
  }
  out[at++] = 2 | ((length - 1) << 2);
  out[at++] = offset;
  out[at++] = offset >>> 8;
  return at;
}
