import { constants } from 'node:fs';
import * as node from 'node:fs/promises';
import { type FileHandle, open } from 'node:fs/promises';
import { isNodeError, StorageError } from '../base/errors.js';

/**
 * The functions of `node:fs/promises` that are used for writing files. They are an interface, so that a test
 * can make any call fail.
 */
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
  /** The inode number. It distinguishes the file from a later file with the same name. */
  readonly ino: number;
  readonly mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

export interface OpenFile {
  /** The file descriptor. Other threads use it to write to the file. */
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

/**
 * Writes all of `bytes`. A single call may write fewer bytes if the disk is nearly full, so this repeats the
 * call until all bytes are written.
 */
export async function writeAll(file: OpenFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const rest = bytes.length - done;
    done += (await file.write(bytes, done, rest, position + done)).bytesWritten;
  }
}

export async function ifThere<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Returns the status of a path. For a symbolic link, returns the status of the link itself. */
export function statusOf(fs: FileSystem, file: string): Promise<FileStatus | undefined> {
  return ifThere(fs.lstat(file));
}

export function readIfThere(fs: FileSystem, file: string): Promise<string | undefined> {
  return ifThere(fs.readFile(file, 'utf8'));
}

export function unlinkIfThere(fs: FileSystem, file: string): Promise<void> {
  return ifThere(fs.unlink(file));
}

/** Windows does not have these flags. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;

/**
 * The flags to open a file for reading. Without `O_NONBLOCK`, opening a named pipe would wait until another
 * process writes to the pipe.
 */
const TO_READ = constants.O_RDONLY | NO_WAIT;

/**
 * Returns the status of a regular file, or `undefined` if nothing has this name. Throws for anything but a
 * regular file.
 */
export async function regularStatus(fs: FileSystem, file: string): Promise<FileStatus | undefined> {
  const status = await statusOf(fs, file);
  if (status !== undefined && !status.isFile())
    throw new StorageError(
      `${file} is not a regular file: a symbolic link, a device or a folder has that name. Remove it, or choose another path`,
      { path: file },
    );
  return status;
}

/**
 * Opens a regular file for reading. Follows links. Throws for anything else, such as a named pipe, because a
 * pipe may never end.
 */
export async function openToRead(file: string): Promise<FileHandle> {
  const handle = await open(file, TO_READ);
  try {
    if ((await handle.stat()).isFile()) return handle;
    throw new StorageError(
      `${file} is not a regular file: a pipe, a device or a folder has that name`,
      { path: file },
    );
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Creates a file. Replaces a regular file of the same name. Never follows a link. */
export async function openNew<File extends OpenFile>(
  fs: FileSystem<File>,
  file: string,
  mode = 0o666,
): Promise<File> {
  if ((await regularStatus(fs, file)) !== undefined) await unlinkIfThere(fs, file);
  return fs.open(file, 'wx', mode);
}

/** Opens an existing regular file for writing. Never follows a link. */
export async function openExisting<File extends OpenFile>(
  fs: FileSystem<File>,
  file: string,
): Promise<File> {
  await regularStatus(fs, file);
  return fs.open(file, constants.O_RDWR | NO_FOLLOW);
}

export async function firstBytes(file: string, count: number): Promise<Buffer> {
  const handle = await openToRead(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
