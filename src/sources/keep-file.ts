import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import path from 'node:path';
import { MillraceError, StorageError } from '../errors.js';
import { syncFolder } from '../storage/sync-folder.js';

/**
 * Writes a file so that under its name there is all of it or nothing, whatever happens: beside it as
 * `.part`, flushed to disk, then renamed. What `write` throws leaves no file.
 */
export async function keepFile<T>(
  file: string,
  write: (part: FileHandle) => Promise<T>,
): Promise<T> {
  const folder = path.dirname(file);
  const part = `${file}.part`;
  return storing(file, async () => {
    await mkdir(folder, { recursive: true });
    const handle = await open(part, 'w+');
    let result: T;
    try {
      result = await write(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, file);
    await syncFolder(folder);
    return result;
  });
}

/** Names the file in what goes wrong with it; other errors stay as they are. */
export async function storing<T>(file: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof MillraceError || !(cause instanceof Error) || !('syscall' in cause))
      throw cause;
    throw new StorageError(
      `Could not keep ${file}: ${cause.message}. Make room or give access there, then run the same again: it goes on where it stood`,
      { cause, path: file },
    );
  }
}
