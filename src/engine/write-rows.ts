import { writeSync, writevSync } from 'node:fs';
import { piecesOf } from './encode-rows.js';
import type { WriteRange } from './messages.js';
import type { RowBounds } from './row-fields.js';

/** Writes posts of one file as lines at positions of open files. */
export class RowWriter {
  /** The range that is being written, or that failed. */
  range = 0;

  /** @throws The error of the system, for the first write that fails. */
  write(bytes: Buffer, bounds: RowBounds, rows: Uint32Array, ranges: readonly WriteRange[]): void {
    for (this.range = 0; this.range < ranges.length; this.range++) {
      const { fd, position, from, to } = ranges[this.range]!;
      writeAll(fd, piecesOf(bytes, bounds, rows, from, to), position);
    }
  }
}

/** A call may write fewer bytes, on a disk that is nearly full. */
function writeAll(fd: number, lines: readonly Buffer[], position: number): void {
  let skip = writevSync(fd, lines, position);
  let at = position;
  for (const line of lines) {
    for (let done = Math.min(skip, line.length); done < line.length; )
      done += writeSync(fd, line, done, line.length - done, at + done);
    skip -= Math.min(skip, line.length);
    at += line.length;
  }
}
