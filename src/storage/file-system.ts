import * as node from 'node:fs/promises';
import { isNodeError } from '../base/errors.js';

/** The calls of `node:fs/promises` that write files, so that a test can make any of them fail. */
export interface FileSystem<File extends OpenFile = OpenFile> {
  open(path: string, flags: string | number, mode?: number): Promise<File>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string, mode?: number): Promise<unknown>;
  lstat(path: string): Promise<FileStatus>;
}

export interface FileStatus {
  readonly size: number;
  /** Distinguishes a file from a later one of the same name. */
  readonly ino: number;
  readonly mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

export interface OpenFile {
  /** The number of the file in this process, for writes of other threads. */
  readonly fd?: number;
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

/** What a call on a file resolves to; `undefined` where the file does not exist. */
export async function ifThere<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The status of that name; of the link itself where it is a symbolic link. */
export function statusOf(fs: FileSystem, file: string): Promise<FileStatus | undefined> {
  return ifThere(fs.lstat(file));
}

export function readIfThere(fs: FileSystem, file: string): Promise<string | undefined> {
  return ifThere(fs.readFile(file, 'utf8'));
}

export function unlinkIfThere(fs: FileSystem, file: string): Promise<void> {
  return ifThere(fs.unlink(file));
}
