import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import pLimit from 'p-limit';
import { DataError, MillraceError, StorageError } from '../../../base/errors.js';
import { inflateWhole } from '../../../gzip/inflate-whole.js';
import { lacksZstd, nodeZstd } from '../../../gzip/zstd.js';
import { writeAll } from '../../../storage/file-system.js';
import { replaceFile } from '../../../storage/replace-file.js';
import { storageError } from '../../../storage/storage-error.js';
import { getOrMake, WeightedCache } from '../../cache.js';
import type { LinePosition } from './block-layout.js';
import { fileBlocks, type ListedFile } from './folder-files.js';

export interface IndexedFile extends ListedFile {
  /**
   * How lines are read. A `plain` file is read in place. A `gzip` or `zstd` file is inflated into
   * memory. A `packed` file is read from a seekable copy in the index.
   */
  readonly form: 'plain' | 'gzip' | 'zstd' | 'packed';
  /**
   * Set for a packed file: the byte offset of each chunk in the packed copy of the file, and the end of the
   * last chunk.
   */
  readonly chunks?: readonly number[] | undefined;
  /** The size of the file's text after decompression, in bytes. */
  readonly textBytes: number;
}

const MAX_CACHED_BYTES = 96 * 1024 * 1024;

export const packedName = (number: number): string => `${number}.text`;

export class LineReader {
  readonly #folder: string;
  readonly #index: string;
  readonly #files: readonly IndexedFile[];
  /** Inflated files, by their index in the list of files. */
  readonly #texts = new WeightedCache<number, Promise<Buffer>>(MAX_CACHED_BYTES);
  readonly #limit = pLimit(4);

  constructor(folder: string, index: string, files: readonly IndexedFile[]) {
    this.#folder = folder;
    this.#index = index;
    this.#files = files;
  }

  /**
   * Returns the lines at these positions, in the same order.
   *
   * @throws StorageError If a file has changed since it was indexed.
   */
  async read(positions: readonly LinePosition[], signal?: AbortSignal): Promise<readonly Buffer[]> {
    const lines = new Array<Buffer>(positions.length);
    await this.#limit.map(byFile(positions), async ([number, asked]) => {
      signal?.throwIfAborted();
      const file = this.#files[number] as IndexedFile;
      asked.sort((a, b) => a.position.offset - b.position.offset);
      const ascending = asked.map(({ position }) => position);
      try {
        const read = await this.#linesOf(number, file, ascending);
        for (const [n, { index }] of asked.entries()) lines[index] = read[n] as Buffer;
      } catch (cause) {
        throw readError(join(this.#folder, file.path), cause);
      }
    });
    return lines;
  }

  close(): void {
    this.#texts.clear();
  }

  /** @param asked The positions, in ascending order. */
  async #linesOf(
    number: number,
    file: IndexedFile,
    asked: readonly LinePosition[],
  ): Promise<readonly Buffer[]> {
    if (file.form === 'plain') return this.#readPlain(file, asked);
    if (file.form === 'packed') return this.#readPacked(number, file, asked);
    const text = await this.#text(number);
    return asked.map(position => lineOf(text, position));
  }

  #text(number: number): Promise<Buffer> {
    return this.#texts.get(number, () => {
      const file = this.#files[number] as IndexedFile;
      const value = this.#inflate(file);
      value.catch(() => this.#texts.delete(number));
      return { value, weight: file.textBytes };
    });
  }

  async #inflate(file: IndexedFile): Promise<Buffer> {
    const path = await this.#unchanged(file);
    const text = await inflateWhole(await readFile(path), Number.POSITIVE_INFINITY);
    if (text !== undefined) return text;
    if (file.form === 'zstd' && nodeZstd === undefined) throw lacksZstd(path);
    return buffer(fileBlocks(path)).catch(cause => {
      // The file was intact when it was indexed, so damaged data means that the file has changed.
      throw cause instanceof DataError ? hasChanged(path, cause) : cause;
    });
  }

  async #readPlain(file: IndexedFile, asked: readonly LinePosition[]): Promise<readonly Buffer[]> {
    const handle = await open(await this.#unchanged(file), 'r');
    try {
      const lines: Buffer[] = [];
      for (const { offset, bytes } of asked) lines.push(await readBytes(handle, offset, bytes));
      return lines;
    } finally {
      await handle.close();
    }
  }

  async #readPacked(
    number: number,
    file: IndexedFile,
    asked: readonly LinePosition[],
  ): Promise<readonly Buffer[]> {
    await this.#unchanged(file);
    const path = join(this.#index, packedName(number));
    return readPackedLines(path, file.chunks ?? [], asked).catch(cause => {
      throw new StorageError(`The index of the archive is damaged at ${path}`, { path, cause });
    });
  }

  /** Returns the path of a file. Throws if the file has changed since it was indexed. */
  async #unchanged(file: IndexedFile): Promise<string> {
    const path = join(this.#folder, file.path);
    const now = await stat(path).catch(cause => {
      throw new StorageError(`The archive's file ${path} can no longer be read`, { path, cause });
    });
    if (now.size !== file.bytes || now.mtimeMs !== file.modifiedMs) throw hasChanged(path);
    return path;
  }
}

interface AskedLine {
  readonly position: LinePosition;
  /** The position of the line in the result. */
  readonly index: number;
}

function byFile(positions: readonly LinePosition[]): Map<number, AskedLine[]> {
  const files = new Map<number, AskedLine[]>();
  for (const [index, position] of positions.entries())
    getOrMake(files, position.file, () => []).push({ position, index });
  return files;
}

/**
 * Returns the error to throw after a failed read. A system error becomes a `StorageError`, and a
 * `MillraceError` stays unchanged. Any other error means that the file is too short or damaged, so it has
 * changed since it was indexed.
 */
function readError(path: string, cause: unknown): unknown {
  return cause instanceof MillraceError || (cause instanceof Error && 'syscall' in cause)
    ? storageError('read', path, cause)
    : hasChanged(path, cause);
}

function hasChanged(path: string, cause?: unknown): StorageError {
  return new StorageError(
    `The archive's file ${path} has changed since it was indexed. Open the archive again`,
    { path, cause },
  );
}

/** Returns a copy of a line. A view of the line would keep all of `text` in memory. */
function lineOf(text: Buffer, { offset, bytes }: LinePosition): Buffer {
  if (offset + bytes > text.length) throw new Error('The text is shorter than when it was indexed');
  return Buffer.from(text.subarray(offset, offset + bytes));
}

/**
 * The size of a chunk before compression, in bytes. To read a line, each chunk that has a part of it is
 * inflated, which takes a few milliseconds at this size.
 */
const CHUNK_BYTES = 128 * 1024;
const pack = promisify<Buffer, { level: number }, Buffer>(deflateRaw);
const unpack = promisify<Buffer, Buffer>(inflateRaw);

/**
 * Writes the text of a large compressed file to `target`. Gzip and zstd files can only be read from their
 * start, so the text is compressed again in separate chunks. Returns the start of each chunk, and the end of
 * the last chunk.
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

async function* chunks(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const block of blocks) {
    const text = Buffer.concat([rest, block]);
    let at = 0;
    for (; at + CHUNK_BYTES <= text.length; at += CHUNK_BYTES)
      yield text.subarray(at, at + CHUNK_BYTES);
    rest = Buffer.from(text.subarray(at));
  }
  if (rest.length > 0) yield rest;
}

/**
 * Reads lines from a file that `writePackedText` has written. `starts` is the result of `writePackedText`:
 * the offsets of the compressed chunks. `positions` must be in ascending order.
 */
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
        read += (await chunk(Math.floor(at / CHUNK_BYTES))).copy(line, read, at % CHUNK_BYTES);
      }
      lines.push(line);
    }
    return lines;
  } finally {
    await file.close();
  }
}

/**
 * Reads exactly `length` bytes, in several reads if necessary.
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
