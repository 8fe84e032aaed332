import { writeSync } from 'node:fs';
import { LF } from '../json/json-bytes.js';
import type { WriteRange } from './messages.js';
import type { RowBounds } from './scanned-columns.js';

/** Posts are copied to a buffer that fits in the cache of a core. */
const BUFFER_BYTES = 256 * 1024;

/** Writes posts of one file as lines at positions of open files. */
export class RowWriter {
  /** The range that is being written, or that failed. */
  range = 0;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  /** @throws The error of the system, for the first write that fails. */
  write(bytes: Buffer, bounds: RowBounds, rows: Uint32Array, ranges: readonly WriteRange[]): void {
    for (this.range = 0; this.range < ranges.length; this.range++)
      this.#writeRange(bytes, bounds, rows, ranges[this.range]!);
  }

  #writeRange(
    bytes: Buffer,
    { starts, lengths }: RowBounds,
    rows: Uint32Array,
    { fd, position, from, to }: WriteRange,
  ): void {
    const buffer = this.#buffer;
    let at = position;
    let used = 0;
    for (let index = from; index < to; ) {
      const start = starts[rows[index]!]!;
      let end = start + lengths[rows[index++]!]!;
      // Posts that follow each other in both files, with one line feed between them, are one piece.
      while (index < to && starts[rows[index]!] === end + 1 && bytes[end] === LF)
        end += 1 + lengths[rows[index++]!]!;
      const length = end - start;
      if (used + length + 1 > BUFFER_BYTES) {
        at += writeAll(fd, buffer, 0, used, at);
        used = 0;
      }
      if (length + 1 > BUFFER_BYTES) at += writeAll(fd, bytes, start, length, at);
      else used += bytes.copy(buffer, used, start, end);
      buffer[used++] = LF;
    }
    writeAll(fd, buffer, 0, used, at);
  }
}

/** A call may write fewer bytes, on a disk that is nearly full. */
function writeAll(fd: number, bytes: Buffer, offset: number, length: number, position: number) {
  for (let done = 0; done < length; )
    done += writeSync(fd, bytes, offset + done, length - done, position + done);
  return length;
}
