import { isNodeError } from '../errors.js';
import { type FileSystem, nodeFileSystem } from './file-system.js';

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
