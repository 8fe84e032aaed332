import * as node from 'node:fs/promises';
import path from 'node:path';
import { isNodeError } from '../errors.js';

/** The calls of `node:fs/promises` that files are written with, so that a test can let any of them fail. */
export interface FileSystem<File extends OpenFile = OpenFile> {
  open(path: string, flags: string | number, mode?: number): Promise<File>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string, options: { readonly recursive: true }): Promise<string | undefined>;
  lstat(path: string): Promise<FileStatus>;
}

export interface FileStatus {
  readonly size: number;
  readonly mtimeMs: number;
  isFile(): boolean;
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
