import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import {
  type FileSystem,
  nodeFileSystem,
  type OpenFile,
  unlinkIfThere,
  writeAll,
} from './file-system.js';
import { openNew, regularStatus } from './regular-file.js';
import { syncFolder } from './sync-folder.js';

export interface ReplaceOptions {
  /**
   * Of the new file, whatever the umask.
   * @default 0o666 less the umask
   */
  readonly mode?: number | undefined;
  /**
   * Where it is written first, in the same folder. A fixed name leaves nothing behind when the process
   * is killed, but is for those that write under a lock only.
   * @default a name that no other writer has
   */
  readonly aside?: string | undefined;
}

/**
 * Writes a file so that at any moment the old one or the new one is there, whole: aside, flushed to
 * disk, then renamed, and the name flushed to disk. The folder has to be there. Follows no links and
 * replaces only regular files. When `content` throws, the old file stays.
 *
 * Errors of the system come through as they are: `withStorageError` says what failed.
 *
 * @param content what to write, or a function that writes it
 * @throws StorageError where something else than a regular file has the name.
 */
export function replaceFile<T = void>(
  file: string,
  content: string | Uint8Array | ((aside: FileHandle) => Promise<T>),
  options?: ReplaceOptions,
): Promise<T> {
  return replaceFileOn(nodeFileSystem, file, content, options);
}

/** `replaceFile` on another file system. */
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
