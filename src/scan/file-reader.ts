import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

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
   * file, or is larger than the limit.
   */
  read(path: string): Buffer | undefined {
    let file: number | undefined;
    try {
      file = openSync(path, 'r');
      const status = fstatSync(file);
      if (!status.isFile() || status.size > this.#maxBytes) return undefined;
      return this.#readAll(file, status.size);
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
