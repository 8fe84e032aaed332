import { ByteWriter } from './byte-writer.js';

const MAX_TABLE_BITS = 14;
/** Farther back, a copy takes five bytes. */
const MAX_OFFSET = 0xffff;
/** The end is never looked up: four bytes are read at a time, and a lookup looks ahead. */
const MARGIN = 15;
/** Shorter literals are copied byte by byte: a call takes longer. */
const MAX_LOOP = 48;

const table = new Int32Array(1 << MAX_TABLE_BITS);

/** The size that compressed bytes may have. */
function maxSize(length: number): number {
  return 32 + length + Math.floor(length / 6);
}

/** Compresses in the raw Snappy format. Libraries in JavaScript take several times as long. */
function appendSnappy(out: ByteWriter, input: Uint8Array): void {
  out.varint(input.length);
  const bytes = out.reserve(maxSize(input.length));
  out.length = compress(input, bytes, out.length);
}

const reused = new ByteWriter();

/** Compresses in the raw Snappy format. The result is valid until the next call: new memory for each page costs much. */
export function snappy(input: Uint8Array): Uint8Array {
  reused.length = 0;
  appendSnappy(reused, input);
  return reused.bytes;
}

function compress(input: Uint8Array, out: Buffer, start: number): number {
  const { length } = input;
  let at = start;
  if (length < MARGIN) return length === 0 ? at : literal(input, 0, length, out, at);
  const view = new DataView(input.buffer, input.byteOffset, length);
  let bits = 8;
  while (bits < MAX_TABLE_BITS && 1 << bits < length) bits++;
  const shift = 32 - bits;
  // Positions are one more than they are: zero is none.
  table.fill(0, 0, 1 << bits);
  const limit = length - MARGIN;
  let emitted = 0;
  let position = 1;
  while (position <= limit) {
    // The longer nothing matches, the larger the steps.
    let skip = 32;
    let word = 0;
    let candidate = -1;
    for (;;) {
      word = view.getInt32(position, true);
      const hash = Math.imul(word, 0x1e35a7bd) >>> shift;
      candidate = table[hash]! - 1;
      table[hash] = position + 1;
      if (
        candidate >= 0 &&
        position - candidate <= MAX_OFFSET &&
        view.getInt32(candidate, true) === word
      )
        break;
      position += skip++ >>> 5;
      if (position > limit) return literal(input, emitted, length, out, at);
    }
    if (position > emitted) at = literal(input, emitted, position, out, at);
    let end = position + 4;
    let from = candidate + 4;
    while (end + 4 <= length && view.getInt32(end, true) === view.getInt32(from, true)) {
      end += 4;
      from += 4;
    }
    while (end < length && input[end] === input[from]) {
      end++;
      from++;
    }
    at = copy(position - candidate, end - position, out, at);
    // What follows the match is likely to match what followed it before.
    if (end <= limit) table[Math.imul(view.getInt32(end - 1, true), 0x1e35a7bd) >>> shift] = end;
    position = end;
    emitted = end;
  }
  return emitted < length ? literal(input, emitted, length, out, at) : at;
}

function literal(input: Uint8Array, from: number, to: number, out: Buffer, start: number): number {
  let at = start;
  const last = to - from - 1;
  if (last < 60) out[at++] = last << 2;
  else {
    const size = last < 0x100 ? 1 : last < 0x10000 ? 2 : last < 0x1000000 ? 3 : 4;
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
