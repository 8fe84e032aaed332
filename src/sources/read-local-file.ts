import { stat } from 'node:fs/promises';
import { abortable } from '../base/abortable.js';
import { StorageError } from '../base/errors.js';
import type { DecodedFile } from '../files/decoded-file.js';
import type { Decoder } from '../files/file-source.js';
import { openToRead } from '../storage/file-system.js';
import { anyStorageError, withAnyStorageError } from '../storage/storage-error.js';

const BLOCK_BYTES = 1024 * 1024;

/** A file, with its size and time when it was listed. */
export interface LocalFile {
  readonly path: string;
  /** The path as listed in `paths`, or the path below a listed folder, with `/` as the separator. */
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Decodes a file in a thread, or reads it if the thread cannot decode it. */
export async function decodeOrRead(
  decoder: Decoder,
  file: LocalFile,
  signal: AbortSignal,
): Promise<DecodedFile | Buffer> {
  const { path, size } = file;
  const read = () => readLocalFile(file);
  const decoded = decoder.decode({ file: { path, size, read }, origin: path });
  return (await abortable(decoded, signal)) ?? readLocalFile(file);
}

/** Reads a whole file. */
export function readLocalFile({ path, size }: LocalFile): Promise<Buffer> {
  return withReadError(path, readAll(path, size));
}

/**
 * Reads a file whose size is known. `readFile` of node:fs would ask for the size again and read small blocks,
 * which doubles the number of system calls.
 */
async function readAll(path: string, size: number): Promise<Buffer> {
  const file = await openToRead(path);
  try {
    // The buffer has one byte more than the expected size, so that the same read also finds the end of the
    // file.
    let bytes = Buffer.allocUnsafeSlow(size + 1);
    let end = 0;
    while (true) {
      const { bytesRead } = await file.read(bytes, end, bytes.length - end, end);
      end += bytesRead;
      if (bytesRead === 0) checkSize(path, end, size);
      if (bytesRead === 0 || end === size) return bytes.subarray(0, end);
      if (end === bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)]);
    }
  } finally {
    await file.close();
  }
}

/**
 * Yields a file in blocks.
 *
 * @param incremental Whether to refuse a file that has grown, after its last block.
 * @param count Called with the size of each block.
 */
export async function* blocksOfFile(
  local: LocalFile,
  incremental: boolean,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const { path, size } = local;
  const file = await withReadError(path, openToRead(path));
  let bytes = 0;
  try {
    for await (const block of file.createReadStream({ highWaterMark: BLOCK_BYTES })) {
      bytes += block.length;
      count(block.length);
      yield block;
    }
    checkSize(path, bytes, size);
    if (incremental) await checkGrowth(local);
  } catch (error) {
    throw anyStorageError('read', path, error);
  }
}

export function withReadError<T>(path: string, action: Promise<T>): Promise<T> {
  return withAnyStorageError('read', path, () => action);
}

/**
 * Refuses a file that has become shorter since it was listed. If another process has truncated the file at
 * the end of a line, it would otherwise look complete.
 */
function checkSize(path: string, bytes: number, listed: number): void {
  if (bytes < listed)
    throw new StorageError(
      `${path} has ${bytes} of the ${listed} bytes that it had when it was listed: another process has cut or replaced it. Run again once nothing writes to it`,
      { path, retryable: true },
    );
}

/**
 * Refuses a file that has grown since it was listed. Called before the cursor after the file is delivered. The
 * cursor would record the size of the listing, so every later run would fail because of a file that has grown.
 */
export async function checkGrowth({ path, size: listed }: LocalFile): Promise<void> {
  // If the file is gone, it was moved or deleted after it was read.
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > listed)
    throw new StorageError(
      `${path} has grown since it was listed, from ${listed} to ${size} bytes: another process still writes to it. Run again once nothing is added to it`,
      { path, retryable: true },
    );
}
