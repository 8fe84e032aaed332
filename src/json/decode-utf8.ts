import { isAscii, isUtf8, transcode } from 'node:buffer';

/**
 * What `toString()` of a buffer gives. For texts of more than some hundred bytes it is faster: V8
 * reads UTF-8 one character at a time as soon as one is not ASCII.
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
