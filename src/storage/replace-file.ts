import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import {
  type FileSystem,
  nodeFileSystem,
  type OpenFile,
  openNew,
  regularStatus,
  unlinkIfThere,
  writeAll,
} from './file-system.js';
import { syncFolder } from './folder.js';

export interface ReplaceOptions {
  /**
   * The permission bits of the new file, regardless of the umask.
   * @default 0o666 minus the umask
   */
  readonly mode?: number | undefined;
  /**
   * The path of the temporary file, in the folder of the file to replace. With a fixed name, killed processes
   * leave at most one temporary file behind. Only one process may use the name at a time.
   * @default a unique name
   */
  readonly aside?: string | undefined;
}

/**
 * Replaces a file atomically: writes a temporary file, syncs it, renames it, and syncs the folder. At any
 * time, the name refers either to the complete old file or to the complete new file. The folder must exist.
 * Follows no links, and replaces only regular files. If `content` throws, the old file is kept.
 *
 * System errors are thrown unchanged. To convert them, wrap the call in `withStorageError`.
 *
 * @param content the bytes to write, or a function that writes them
 * @throws StorageError if the name belongs to anything but a regular file.
 */
export function replaceFile<T = void>(
  file: string,
  content: string | Uint8Array | ((aside: FileHandle) => Promise<T>),
  options?: ReplaceOptions,
): Promise<T> {
  return replaceFileOn(nodeFileSystem, file, content, options);
}

export async function replaceFileOn<T, File extends OpenFile>(
  fs: FileSystem<File>,
  file: string,
  content: string | Uint8Array | ((aside: File) => Promise<T>),
  { mode, aside = `${file}.${randomBytes(6).toString('hex')}.tmp` }: ReplaceOptions = {},
): Promise<T> {
  await regularStatus(fs, file);
  const handle = await openNew(fs, aside, mode);
  try {
    let result: T;
    try {
      if (mode !== undefined) await handle.chmod(mode);
      result = await written(handle, content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await regularStatus(fs, file);
    await fs.rename(aside, file);
    await syncFolder(path.dirname(file), fs);
    return result;
  } catch (error) {
    await unlinkIfThere(fs, aside).catch(() => {});
    throw error;
  }
}

async function written<T, File extends OpenFile>(
  handle: File,
  content: string | Uint8Array | ((aside: File) => Promise<T>),
): Promise<T> {
  if (typeof content === 'function') return content(handle);
  await writeAll(handle, typeof content === 'string' ? Buffer.from(content) : content, 0);
  return undefined as T;
}
