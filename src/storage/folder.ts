import path from 'node:path';
import { isNodeError, StorageError } from '../base/errors.js';
import { type FileSystem, nodeFileSystem, type OpenFile } from './file-system.js';

interface MakeFolderOptions {
  /**
   * The permission bits of each created folder.
   * @default 0o777 minus the umask
   */
  readonly mode?: number | undefined;
  readonly fs?: FileSystem | undefined;
}

/**
 * Creates a folder and its parents. Returns the folders to pass to `syncFolder`. These include parents that
 * already existed, because a killed run may have created them without syncing.
 *
 * @param folder an absolute path
 */
export async function makeFolder(
  folder: string,
  { mode, fs = nodeFileSystem }: MakeFolderOptions = {},
): Promise<string[]> {
  await makeWithAbove(fs, folder, mode);
  const above: string[] = [];
  for (let at = folder; path.dirname(at) !== at; at = path.dirname(at))
    above.push(path.dirname(at));
  return above;
}

/**
 * Creates a folder and its parents, and syncs their names to disk. Otherwise, a power failure could lose the
 * name of the folder, and with it even a synced file. System errors are thrown unchanged.
 */
export async function makeSyncedFolder(folder: string, options?: MakeFolderOptions): Promise<void> {
  for (const above of await makeFolder(absolutePath(folder), options))
    await syncFolder(above, options?.fs);
}

/**
 * Creates a folder and its parents. Node's recursive `mkdir` is not used, because it loops endlessly for a
 * relative path in a deleted working folder.
 */
async function makeWithAbove(fs: FileSystem, folder: string, mode?: number): Promise<void> {
  try {
    await fs.mkdir(folder, mode);
  } catch (error) {
    const above = path.dirname(folder);
    if (isNodeError(error, 'ENOENT') && above !== folder) {
      await makeWithAbove(fs, above, mode);
      await makeOne(fs, folder, mode);
    } else if (!(await isFolder(fs, folder))) throw error;
  }
}

/** Creates one folder. Ignores the error if another process has created the folder in the meantime. */
async function makeOne(fs: FileSystem, folder: string, mode?: number): Promise<void> {
  try {
    await fs.mkdir(folder, mode);
  } catch (error) {
    if (!(isNodeError(error, 'EEXIST') && (await isFolder(fs, folder)))) throw error;
  }
}

/**
 * Returns whether a path is a folder, or a symbolic link to a folder. `lstat` follows such a link only
 * because the path ends in a separator.
 */
async function isFolder(fs: FileSystem, folder: string): Promise<boolean> {
  try {
    return (await fs.lstat(folder + path.sep)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].some(code => isNodeError(error, code))) return false;
    throw error;
  }
}

/** Error codes for file systems that cannot sync a folder, and for folders that this user may not open. */
const CANNOT_SYNC = ['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'];

/**
 * Syncs a folder, so that created and renamed entries survive a power failure. Does nothing if the file
 * system does not support it.
 */
export async function syncFolder(folder: string, fs: FileSystem = nodeFileSystem): Promise<void> {
  try {
    const handle = await fs.open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!CANNOT_SYNC.some(code => isNodeError(error, code))) throw error;
  }
}

/**
 * Makes a path absolute. Each call of the package does this once, at the start, because the working folder
 * may change or be deleted later.
 *
 * @throws StorageError if the path is relative and the working folder does not exist.
 */
export function absolutePath(file: string): string {
  return path.isAbsolute(file) ? path.normalize(file) : path.join(workingFolder(file), file);
}

/** Returns a file system that resolves relative paths against `folder`. */
export function fileSystemIn<File extends OpenFile>(
  folder: string,
  fs: FileSystem<File>,
): FileSystem<File> {
  const at = (file: string) => (path.isAbsolute(file) ? file : path.join(folder, file));
  return {
    open: (file, flags, mode) => fs.open(at(file), flags, mode),
    readFile: (file, encoding) => fs.readFile(at(file), encoding),
    rename: (from, to) => fs.rename(at(from), at(to)),
    unlink: file => fs.unlink(at(file)),
    mkdir: (folderPath, mode) => fs.mkdir(at(folderPath), mode),
    lstat: file => fs.lstat(at(file)),
  };
}

/** Returns the current working folder. If it does not exist, the error names `file`. */
export function workingFolder(file = '.'): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new StorageError(
      `Could not find ${file}: the working folder of the process is gone. Start it in an existing folder, or pass an absolute path`,
      { path: file, cause },
    );
  }
}
