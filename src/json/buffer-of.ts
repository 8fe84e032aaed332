import { DataError } from '../errors.js';

/**
 * The same bytes as a `Buffer`, not copied.
 *
 * @throws DataError for anything else.
 */
export function bufferOf(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  if (!(bytes instanceof Uint8Array))
    throw new DataError('Expected bytes, a Buffer or Uint8Array', {
      advice: 'Make them of text with Buffer.from(text)',
    });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
