import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Without `O_NONBLOCK`, opening a pipe waits until another process writes to it. Windows does not have the flag. */
const TO_READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Room for the end of most files, so that the buffer seldom grows. */
const SMALLEST = 1024 * 1024;

/** Reads whole files into the same memory: new memory costs more than reading a small file from the cache. */
export class FileReader {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The content, valid until the next call; `undefined` where the file cannot be read, is not a regular
   * file, is larger than the limit, or has less than `minBytes`.
   */
  read(path: string, minBytes = 0): Buffer | undefined {
    let file: number | undefined;
    try {
      file = openSync(path, TO_READ);
      const status = fstatSync(file);
      if (!status.isFile() || status.size > this.#maxBytes) return undefined;
      const content = this.#readAll(file, status.size);
      return content.length < minBytes ? undefined : content;
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  #readAll(file: number, size: number): Buffer {
    if (this.#buffer.length < size)
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(SMALLEST, 2 * size));
    let used = 0;
    while (used < size) {
      const read = readSync(file, this.#buffer, used, size - used, used);
      if (read === 0) break;
      used += read;
    }
    return this.#buffer.subarray(0, used);
  }
}
