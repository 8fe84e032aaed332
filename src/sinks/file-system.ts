import * as node from 'node:fs/promises';
import path from 'node:path';
import { isNodeError, MillraceError, StorageError } from '../errors.js';

/** The calls of `node:fs/promises` that a sink needs, so that a test can let any of them fail. */
export interface FileSystem {
  open(path: string, flags: string, mode?: number): Promise<OpenFile>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string, options: { readonly recursive: true }): Promise<string | undefined>;
  stat(path: string): Promise<{ readonly size: number }>;
}

export interface OpenFile {
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
  truncate(length: number): Promise<void>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const nodeFileSystem: FileSystem = node;

/** Writes all of `bytes`: a single call may write fewer, on a disk that is nearly full. */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const rest = bytes.length - done;
    done += (await file.write(bytes, done, rest, position + done)).bytesWritten;
  }
}

/**
 * Makes a folder and those above it, and returns the latter, for `syncFolder`: also those that were
 * there, because a run that was killed may have made them just before.
 */
export async function makeFolder(fs: FileSystem, folder: string): Promise<string[]> {
  await fs.mkdir(folder, { recursive: true });
  const above: string[] = [];
  for (let at = path.resolve(folder); path.dirname(at) !== at; at = path.dirname(at))
    above.push(path.dirname(at));
  return above;
}

export async function sizeOf(fs: FileSystem, file: string): Promise<number | undefined> {
  try {
    return (await fs.stat(file)).size;
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: make room',
  EDQUOT: 'The disk quota is used up: make room',
  EACCES: 'Allow this user to write there, or choose another path',
  EPERM: 'Allow this user to write there, or choose another path',
  EROFS: 'The disk is read-only: choose another path',
  // What Node says of a new folder on a disk that is read-only.
  ENOENT: 'The folder is gone, or its disk is read-only: choose another path',
  EISDIR: 'A folder has that name: choose another path',
  ENOTDIR: 'A file stands where a folder is needed: choose another path',
  EEXIST: 'A file stands where a folder is needed: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: lower maxOpen',
  EIO: 'Check the disk',
};

/** The error of a failed call on `file`, with what to do about it. Errors of ours stay as they are. */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  if (cause instanceof MillraceError || !(cause instanceof Error) || !('code' in cause))
    return cause;
  const advice = ADVICE[String(cause.code)] ?? 'See the cause';
  return new StorageError(`Could not ${doing} ${file}: ${cause.message}. ${advice}${then}.`, {
    path: file,
    cause,
    retryable: ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE'].includes(String(cause.code)),
  });
}
