import { isNodeError } from '../errors.js';
import { type FileSystem, nodeFileSystem } from './file-system.js';

/** What a file system answers that cannot make a folder safe, or a folder that this user may not open. */
const CANNOT_SYNC = ['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'];

/** Makes new and renamed entries of a folder survive a power cut, where the file system can. */
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
