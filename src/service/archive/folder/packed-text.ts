import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { LinePosition } from './block-file.js';

/** Bytes of text that are compressed together, so that any line is a few milliseconds away. */
const PIECE = 128 * 1024;
const pack = promisify<Buffer, { level: number }, Buffer>(deflateRaw);
const unpack = promisify<Buffer, Buffer>(inflateRaw);

/**
 * Writes the text of a large gzip file to `target`, compressed again in pieces: gzip can only be read
 * from its start. After the pieces come the places where they start and where the last ends, 8 bytes
 * each, and the number of places.
 */
export async function writePackedText(
  blocks: AsyncIterable<Buffer>,
  target: string,
): Promise<void> {
  const file = await open(target, 'wx');
  try {
    const starts = [0];
    for await (const piece of pieces(blocks)) {
      const packed = await pack(piece, { level: 1 });
      await file.write(packed);
      starts.push((starts.at(-1) as number) + packed.length);
    }
    const table = Buffer.alloc(8 * (starts.length + 1));
    for (const [i, number] of [...starts, starts.length].entries())
      table.writeDoubleLE(number, 8 * i);
    await file.write(table);
  } finally {
    await file.close();
  }
}

/** The same bytes in pieces of one size, the last one apart. */
async function* pieces(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const block of blocks) {
    const text = Buffer.concat([rest, block]);
    let at = 0;
    for (; at + PIECE <= text.length; at += PIECE) yield text.subarray(at, at + PIECE);
    rest = Buffer.from(text.subarray(at));
  }
  if (rest.length > 0) yield rest;
}

/** The lines at these places, which ascend, of a file that `writePackedText` wrote. */
export async function readPackedLines(
  path: string,
  places: readonly LinePosition[],
): Promise<readonly Buffer[]> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const count = (await readAt(file, size - 8, 8)).readDoubleLE();
    const starts = await readAt(file, size - 8 * (count + 1), 8 * count);
    let latest: { number: number; text: Buffer } = { number: -1, text: starts };
    const piece = async (number: number): Promise<Buffer> => {
      if (latest.number !== number) {
        const start = starts.readDoubleLE(8 * number);
        const length = starts.readDoubleLE(8 * number + 8) - start;
        latest = { number, text: await unpack(await readAt(file, start, length)) };
      }
      return latest.text;
    };
    const lines: Buffer[] = [];
    for (const { offset, bytes } of places) {
      const line = Buffer.alloc(bytes);
      for (let read = 0; read < bytes; ) {
        const at = offset + read;
        read += (await piece(Math.floor(at / PIECE))).copy(line, read, at % PIECE);
      }
      lines.push(line);
    }
    return lines;
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Error('The file is shorter than it was written');
    read += bytesRead;
  }
  return bytes;
}
