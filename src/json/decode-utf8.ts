import { isAscii, isUtf8, transcode } from 'node:buffer';

/**
 * Decodes UTF-8 like `toString()` of a buffer, but faster for more than some hundred bytes: V8 decodes
 * one character at a time as soon as one is not ASCII.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const buffer = bufferOf(bytes);
  if (isAscii(buffer)) return buffer.toString('latin1');
  if (!isUtf8(buffer)) return buffer.toString();
  return transcode(buffer, 'utf8', 'utf16le').toString('utf16le');
}

/** The same bytes, not copied. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
