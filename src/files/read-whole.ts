import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { MAX_FILE_BYTES } from './decode-file.js';

/** Without `O_NONBLOCK`, opening a pipe waits until another process writes to it. Windows does not have the flag. */
const TO_READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Room for the end of most files, so that the buffer seldom grows. */
const SMALLEST = 1024 * 1024;

/** All files are read into the same memory: new memory costs more than reading a small file from the cache. */
let buffer = Buffer.alloc(0);

/**
 * The content of a file, valid until the next call; `undefined` where it cannot be read, is not a regular file, is too
 * large to be decoded as a whole, or has less than `minBytes`.
 */
export function readWhole(path: string, minBytes: number): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, TO_READ);
    const status = fstatSync(file);
    if (!status.isFile() || status.size > MAX_FILE_BYTES) return undefined;
    const content = readAll(file, status.size);
    return content.length < minBytes ? undefined : content;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readAll(file: number, size: number): Buffer {
  if (buffer.length < size) buffer = Buffer.allocUnsafeSlow(Math.max(SMALLEST, 2 * size));
  let used = 0;
  while (used < size) {
    const read = readSync(file, buffer, used, size - used, used);
    if (read === 0) break;
    used += read;
  }
  return buffer.subarray(0, used);
}
