import * as node from 'node:fs/promises';
import path from 'node:path';
import { isNodeError } from '../errors.js';

/** The calls of `node:fs/promises` that files are written with, so that a test can let any of them fail. */
export interface FileSystem<File extends OpenFile = OpenFile> {
  open(path: string, flags: string | number, mode?: number): Promise<File>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string): Promise<unknown>;
  lstat(path: string): Promise<FileStatus>;
}

export interface FileStatus {
  readonly size: number;
  /** Tells a file from another that gets its name. */
  readonly ino: number;
  readonly mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

export interface OpenFile {
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
  truncate(length: number): Promise<void>;
  chmod(mode: number): Promise<void>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const nodeFileSystem: FileSystem<node.FileHandle> = node;

/** Writes all of `bytes`: a single call may write fewer, on a disk that is nearly full. */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const rest = bytes.length - done;
    done += (await file.write(bytes, done, rest, position + done)).bytesWritten;
  }
}

/**
 * Makes a folder (an absolute path) and those above it, and returns the latter, for `syncFolder`: also those that were
 * there, because a run that was killed may have made them just before.
 */
export async function makeFolder(fs: FileSystem, folder: string): Promise<string[]> {
  await makeWithAbove(fs, folder);
  const above: string[] = [];
  for (let at = folder; path.dirname(at) !== at; at = path.dirname(at))
    above.push(path.dirname(at));
  return above;
}

/** The recursive `mkdir` of Node never ends for a relative path in a working folder that was deleted. */
async function makeWithAbove(fs: FileSystem, folder: string): Promise<void> {
  try {
    await fs.mkdir(folder);
  } catch (error) {
    const above = path.dirname(folder);
    if (isNodeError(error, 'ENOENT') && above !== folder) {
      await makeWithAbove(fs, above);
      await makeOne(fs, folder);
    } else if (!(await isFolder(fs, folder))) throw error;
  }
}

/** Another process may have been faster. */
async function makeOne(fs: FileSystem, folder: string): Promise<void> {
  try {
    await fs.mkdir(folder);
  } catch (error) {
    if (!(isNodeError(error, 'EEXIST') && (await isFolder(fs, folder)))) throw error;
  }
}

/** Also through a symbolic link. */
async function isFolder(fs: FileSystem, folder: string): Promise<boolean> {
  try {
    return (await fs.lstat(folder + path.sep)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].some(code => isNodeError(error, code))) return false;
    throw error;
  }
}

/** The status of what has that name, itself where it is a symbolic link. */
export async function statusOf(fs: FileSystem, file: string): Promise<FileStatus | undefined> {
  try {
    return await fs.lstat(file);
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export async function readIfThere(fs: FileSystem, file: string): Promise<string | undefined> {
  try {
    return await fs.readFile(file, 'utf8');
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export async function unlinkIfThere(fs: FileSystem, file: string): Promise<void> {
  try {
    await fs.unlink(file);
  } catch (error) {
    if (!isNodeError(error, 'ENOENT')) throw error;
  }
}
