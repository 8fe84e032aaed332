import type { FileHandle } from 'node:fs/promises';

/**
 * Reads exactly `length` bytes, with several calls if one reads fewer.
 *
 * @throws Error If the file ends earlier.
 */
export async function readBytes(
  file: FileHandle,
  position: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Error('The file is shorter than when it was indexed');
    read += bytesRead;
  }
  return bytes;
}
