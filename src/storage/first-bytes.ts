import { openToRead } from './regular-file.js';

/** The beginning of a file, or all of it where it is shorter. */
export async function firstBytes(file: string, count: number): Promise<Buffer> {
  const handle = await openToRead(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
