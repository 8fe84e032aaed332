import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { writeAll } from '../../../storage/file-system.js';
import { replaceFile } from '../../../storage/replace-file.js';
import type { LinePosition } from './block-layout.js';

/** The bytes of text in a chunk, so that reading any line takes a few milliseconds. */
const CHUNK = 128 * 1024;
const pack = promisify<Buffer, { level: number }, Buffer>(deflateRaw);
const unpack = promisify<Buffer, Buffer>(inflateRaw);

/**
 * Writes the text of a large compressed file to `target`, compressed again in chunks, because gzip and
 * zstd can only be read from their start. Returns the positions where each starts and where the last ends.
 */
export async function writePackedText(
  blocks: AsyncIterable<Buffer>,
  target: string,
): Promise<readonly number[]> {
  const starts = [0];
  await replaceFile(target, async file => {
    let end = 0;
    for await (const chunk of chunks(blocks)) {
      const packed = await pack(chunk, { level: 1 });
      await writeAll(file, packed, end);
      end += packed.length;
      starts.push(end);
    }
  });
  return starts;
}

/** The same bytes in chunks of one size; the last may be shorter. */
async function* chunks(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const block of blocks) {
    const text = Buffer.concat([rest, block]);
    let at = 0;
    for (; at + CHUNK <= text.length; at += CHUNK) yield text.subarray(at, at + CHUNK);
    rest = Buffer.from(text.subarray(at));
  }
  if (rest.length > 0) yield rest;
}

/** Reads the lines at ascending positions of a file that `writePackedText` wrote, with chunks that start there. */
export async function readPackedLines(
  path: string,
  starts: readonly number[],
  positions: readonly LinePosition[],
): Promise<readonly Buffer[]> {
  const file = await open(path, 'r');
  try {
    let latest: { number: number; text: Buffer } = { number: -1, text: Buffer.alloc(0) };
    const chunk = async (number: number): Promise<Buffer> => {
      if (latest.number !== number) {
        const start = starts[number] as number;
        const length = (starts[number + 1] as number) - start;
        latest = { number, text: await unpack(await readBytes(file, start, length)) };
      }
      return latest.text;
    };
    const lines: Buffer[] = [];
    for (const { offset, bytes } of positions) {
      const line = Buffer.alloc(bytes);
      for (let read = 0; read < bytes; ) {
        const at = offset + read;
        read += (await chunk(Math.floor(at / CHUNK))).copy(line, read, at % CHUNK);
      }
      lines.push(line);
    }
    return lines;
  } finally {
    await file.close();
  }
}

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
