import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { DataError, MillraceError } from '../../../base/errors.js';
import { compressionOf } from '../../../gzip/compression.js';
import { SniffingDecoder } from '../../../gzip/inflate-stream.js';
import { withoutMark } from '../../../json/byte-codes.js';
import { CarryOver } from '../../../json/records.js';
import { filesBelow, isCheckpointFile, STORED_POSTS } from '../../../storage/files-below.js';
import { anyStorageError, withStorageError } from '../../../storage/storage-error.js';

/**
 * The maximum number of files that are read at the same time. A large folder may have more files than the
 * system allows a process to open.
 */
const MAX_OPEN_FILES = 64;

/** A file of posts. A change of its size or modification time means that its content has changed. */
export interface ListedFile {
  /** The path relative to the folder, with `/` as the separator. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/**
 * Returns the files of a folder and its subfolders, in the order of their paths. Includes only files with an
 * extension for posts. Skips names that start with a dot, and the checkpoint files that sinks write.
 *
 * @throws StorageError If the folder cannot be read.
 */
export async function listFiles(folder: string): Promise<readonly ListedFile[]> {
  const paths = await filesBelow(folder, { match: name => STORED_POSTS.test(name) });
  return (await pLimit(MAX_OPEN_FILES).map(paths, path => fileAt(folder, path))).flat();
}

async function fileAt(folder: string, path: string): Promise<readonly ListedFile[]> {
  const file = join(folder, path);
  const found = await withStorageError('read', file, () => stat(file));
  if (!found.isFile()) return [];
  // A file that cannot be opened is reported later, when its posts are read.
  const isCheckpoint = await isCheckpointFile(file).catch(() => false);
  return isCheckpoint ? [] : [{ path, bytes: found.size, modifiedMs: found.mtimeMs }];
}

export interface FileLine {
  /** The bytes without the line end. They are valid until the next lines are read. */
  readonly bytes: Buffer;
  /** The position of the line in the file after decompression, in bytes. */
  readonly offset: number;
  /** The number of the line, from 1. */
  readonly number: number;
}

/** The maximum size of a line in bytes. A typical post has a few kilobytes. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const READ_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Yields the lines of a file, compressed or not, in batches. Blank lines are counted in `FileLine.number`,
 * but not yielded.
 *
 * @throws DataError If compressed data is damaged or a line is too long; StorageError if the file cannot be
 * read.
 */
export async function* fileLines(path: string): AsyncGenerator<readonly FileLine[]> {
  const rest = new CarryOver();
  let offset = 0;
  let number = 0;
  const take = (tail: Buffer): FileLine | undefined => {
    const whole = rest.join(tail);
    number++;
    const line = number === 1 ? firstLine(whole, path) : whole;
    const start = offset + whole.length - line.length;
    offset += whole.length + 1;
    const bytes = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
    return isBlank(bytes) ? undefined : { bytes, offset: start, number };
  };
  for await (const block of fileBlocks(path)) {
    const lines: FileLine[] = [];
    let start = 0;
    for (let end = block.indexOf(LINE_FEED); end !== -1; end = block.indexOf(LINE_FEED, start)) {
      const line = take(block.subarray(start, end));
      if (line !== undefined) lines.push(line);
      start = end + 1;
    }
    rest.add(block.subarray(start));
    if (rest.byteLength > MAX_LINE_BYTES)
      throw new DataError(`A line is longer than ${MAX_LINE_BYTES} bytes: not a file of posts`, {
        position: { origin: path, line: number + 1 },
      });
    if (lines.length > 0) yield lines;
  }
  const last = take(Buffer.alloc(0));
  if (last !== undefined) yield [last];
}

function firstLine(line: Buffer, path: string): Buffer {
  try {
    return withoutMark(line);
  } catch (cause) {
    const position = { origin: path, line: 1 };
    throw new DataError((cause as Error).message, { cause, position });
  }
}

/** Yields the text of a file, inflated if it is compressed, in buffers of bounded size. */
export async function* fileBlocks(path: string): AsyncGenerator<Buffer> {
  const ending = /\.(?:gz|zst)$/i.exec(path)?.[0].toLowerCase();
  const named = ending && (ending === '.gz' ? 'gzip' : 'zstd');
  const decoder = new SniffingDecoder({
    plain: named === undefined ? 'pass' : 'refuse',
    maxBytes: Number.POSITIVE_INFINITY,
    origin: path,
  });
  const misnamed = (problem: string) =>
    new DataError(`The file is named ${ending} but is ${problem}`, { position: { origin: path } });
  const stream = createReadStream(path, { highWaterMark: READ_BYTES });
  let isFirst = true;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (isFirst && named !== undefined && compressionOf(chunk) !== named)
        throw misnamed(`not ${named}`);
      isFirst = false;
      for await (const blocks of decoder.push(chunk)) yield* blocks;
    }
    if (isFirst && named !== undefined) throw misnamed('empty');
    for (const blocks of decoder.end()) yield* blocks;
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw anyStorageError('read', path, cause);
  } finally {
    stream.destroy();
    decoder.close();
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(byte => byte === 0x20 || byte === 0x0d || byte === 0x09);
}
