import { constants } from 'node:fs';
import { StorageError } from '../errors.js';
import {
  type FileStatus,
  type FileSystem,
  type OpenFile,
  statusOf,
  unlinkIfThere,
} from './file-system.js';

/** Windows does not have this flag. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

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
