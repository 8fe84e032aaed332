import * as node from 'node:fs/promises';
import { isNodeError } from './errors.js';

/** What a file system answers that cannot make a folder safe, or a folder that is not ours to touch. */
const CANNOT_SYNC = ['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'];

interface OpensFolders {
  open(path: string, flags: string): Promise<{ sync(): Promise<void>; close(): Promise<void> }>;
}

/** Makes new and renamed entries of a folder survive a power cut, where that can be had. */
export async function syncFolder(folder: string, fs: OpensFolders = node): Promise<void> {
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
