import path from 'node:path';
import { isNodeError } from '../base/errors.js';
import { type FileSystem, nodeFileSystem } from './file-system.js';
import { absolutePath } from './working-folder.js';

interface MakeFolderOptions {
  /**
   * Mode of each folder that is created.
   * @default 0o777 less the umask
   */
  readonly mode?: number | undefined;
  readonly fs?: FileSystem | undefined;
}

/**
 * Creates a folder and its parents, and returns the parents for `syncFolder`: also existing ones, because
 * a killed run may have created them without syncing.
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
 * Creates a folder and its parents, and resolves once their names survive a power cut: a file in a folder
 * without a name is lost, although it was synced. System errors are thrown unchanged.
 */
export async function makeSyncedFolder(folder: string, options?: MakeFolderOptions): Promise<void> {
  for (const above of await makeFolder(absolutePath(folder), options))
    await syncFolder(above, options?.fs);
}

/** Not Node's recursive `mkdir`, which loops endlessly for a relative path in a deleted working folder. */
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

/** Ignores a folder that another process created meanwhile. */
async function makeOne(fs: FileSystem, folder: string, mode?: number): Promise<void> {
  try {
    await fs.mkdir(folder, mode);
  } catch (error) {
    if (!(isNodeError(error, 'EEXIST') && (await isFolder(fs, folder)))) throw error;
  }
}

/** Follows symbolic links. */
async function isFolder(fs: FileSystem, folder: string): Promise<boolean> {
  try {
    return (await fs.lstat(folder + path.sep)).isDirectory();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].some(code => isNodeError(error, code))) return false;
    throw error;
  }
}

/** Codes of file systems that cannot sync a folder, and of folders that this user may not open. */
const CANNOT_SYNC = ['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'];

/** Makes created and renamed entries of a folder survive a power cut, where the file system can. */
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
