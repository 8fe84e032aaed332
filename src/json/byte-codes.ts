import { DataError } from '../base/errors.js';

export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** The only bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT = 0x20;

/** The byte order mark may come before UTF-8 text, but JSON does not allow it. */
export const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

export function startsWithMark(bytes: Uint8Array): boolean {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte);
}

/**
 * Whether bytes begin like UTF-16 text. Such text begins with the byte order mark of UTF-16, or with an ASCII
 * character in two bytes.
 */
export function isUtf16([first, second]: Uint8Array): boolean {
  if (first === undefined || second === undefined) return false;
  return first + second === 0xff + 0xfe || (first === 0) !== (second === 0);
}

export const UTF_16 = 'This is UTF-16 text, and UTF-8 is expected: convert it, as iconv does';

/**
 * Removes the byte order mark from UTF-8 text, if there is one.
 *
 * @throws DataError if the text is UTF-16.
 */
export function withoutMark(bytes: Buffer): Buffer {
  if (isUtf16(bytes)) throw new DataError(UTF_16);
  return startsWithMark(bytes) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

export function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === 0x09;
}

/** Returns the position after the blank lines that begin at `start`. Returns `start` if there are none. */
export function afterBlankLines(bytes: Uint8Array, start: number, lineEnd: number): number {
  let after = start;
  for (let at = start; at < bytes.length && isSpace(bytes[at]!); at++)
    if (bytes[at] === lineEnd) after = at + 1;
  return after;
}

export function countBytes(byte: number, bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) if (bytes[at] === byte) count++;
  return count;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

export function isSmallLetter(byte: number): boolean {
  return byte >= 0x61 && byte <= 0x7a;
}

export function afterDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  return at;
}

export function isTextAt(bytes: Uint8Array, text: Uint8Array, start: number): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
  return true;
}

/** Parses `count` digits. Returns `NaN` if any of these bytes is not a digit. */
export function digitsIn(bytes: Uint8Array, start: number, count: number): number {
  let number = 0;
  for (let place = start; place < start + count; place++) {
    const byte = bytes[place]!;
    if (!isDigit(byte)) return Number.NaN;
    number = number * 10 + byte - 0x30;
  }
  return number;
}

export function isOpening(byte: number): boolean {
  return (byte | BRACE_BIT) === OPEN_OBJECT;
}

export function isClosing(byte: number): boolean {
  return (byte | BRACE_BIT) === CLOSE_OBJECT;
}

/** Whether a byte may be part of a number, `true`, `false` or `null`. */
export function isScalar(byte: number): boolean {
  return (
    isDigit(byte) ||
    isSmallLetter(byte) ||
    byte === MINUS ||
    byte === 0x2b || // +
    byte === 0x2e || // .
    byte === 0x45 // E
  );
}

/**
 * Returns the same bytes as a `Buffer`, without copying.
 *
 * @throws DataError if the value is not a `Uint8Array`.
 */
export function bufferOf(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  if (!(bytes instanceof Uint8Array))
    throw new DataError('Expected bytes, a Buffer or Uint8Array', {
      advice: 'Create them from text with Buffer.from(text)',
    });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
