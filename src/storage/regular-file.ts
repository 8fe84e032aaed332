import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StorageError } from '../base/errors.js';
import {
  type FileStatus,
  type FileSystem,
  type OpenFile,
  statusOf,
  unlinkIfThere,
} from './file-system.js';

/** Windows does not have these flags. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;

/** Opens a file for reading. Without `O_NONBLOCK`, opening a pipe waits until another process writes to it. */
const TO_READ = constants.O_RDONLY | NO_WAIT;

/** The status of a regular file, or `undefined` if there is none. Throws for anything but a regular file. */
export async function regularStatus(fs: FileSystem, file: string): Promise<FileStatus | undefined> {
  const status = await statusOf(fs, file);
  if (status !== undefined && !status.isFile())
    throw new StorageError(
      `${file} is not a regular file: a symbolic link, a device or a folder has that name. Remove it, or choose another path`,
      { path: file },
    );
  return status;
}

/** Opens a regular file for reading; links are followed. Throws for anything else, such as a pipe, which may never end. */
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

/** Creates a file, replacing a regular one of that name. Never follows a link. */
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

/** The beginning of a file, or all of it where it is shorter. */
export async function firstBytes(file: string, count: number): Promise<Buffer> {
  const handle = await openToRead(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
