import { writeSync, writevSync } from 'node:fs';
import { LF } from '../json/json-bytes.js';
import type { WriteRange } from './messages.js';
import type { ScannedColumns } from './scanned-columns.js';

const LINE_FEED = Buffer.of(LF);

type Places = Pick<ScannedColumns, 'starts' | 'lengths'>;

/** Writes posts of one file as lines at positions of open files. */
export class RowWriter {
  /** The range that is being written, or that failed. */
  range = 0;

  /** @throws The error of the system, for the first write that fails. */
  write(bytes: Buffer, places: Places, rows: Uint32Array, ranges: readonly WriteRange[]): void {
    for (this.range = 0; this.range < ranges.length; this.range++) {
      const { fd, position, from, to } = ranges[this.range]!;
      writeAll(fd, linesOf(bytes, places, rows, from, to), position);
    }
  }
}

/** The lines as views. Copying posts to one buffer takes longer than the system takes for many. */
function linesOf(
  bytes: Buffer,
  { starts, lengths }: Places,
  rows: Uint32Array,
  from: number,
  to: number,
): Buffer[] {
  const lines: Buffer[] = [];
  for (let index = from; index < to; ) {
    const start = starts[rows[index]!]!;
    let end = start + lengths[rows[index++]!]!;
    // Posts that follow each other in both files, with one line feed between them, are one piece.
    while (index < to && starts[rows[index]!] === end + 1 && bytes[end] === LF)
      end += 1 + lengths[rows[index++]!]!;
    if (bytes[end] === LF) lines.push(bytes.subarray(start, end + 1));
    else lines.push(bytes.subarray(start, end), LINE_FEED);
  }
  return lines;
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
