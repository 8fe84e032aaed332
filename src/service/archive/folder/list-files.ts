import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { withStorageError } from '../../../storage/storage-error.js';
import { isCheckpointFile, STORED_POSTS } from '../../../storage/stored-files.js';

/** Files that are open at the same time: all of a large folder would be too many. */
const OPEN = 64;

/** A file of posts, with the size and time that reveal a change. */
export interface ListedFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/**
 * The files of a folder and its subfolders that have an extension for posts, in the order of their
 * paths. Names that start with a dot, and checkpoints of sinks, are skipped.
 *
 * @throws StorageError If the folder cannot be read.
 */
export async function listFiles(folder: string): Promise<readonly ListedFile[]> {
  const found = await collect(folder, '');
  // What cannot be opened is reported once its posts are read.
  const checkpoints = await pLimit(OPEN).map(found, ({ path }) =>
    isCheckpointFile(join(folder, path)).catch(() => false),
  );
  return found
    .filter((_, index) => !checkpoints[index])
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function collect(folder: string, within: string): Promise<readonly ListedFile[]> {
  const here = join(folder, within);
  const entries = await withStorageError('read the archive folder', here, () =>
    readdir(here, { withFileTypes: true }),
  );
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith('.'))
      .map(async entry => {
        const path = within === '' ? entry.name : `${within}/${entry.name}`;
        if (entry.isDirectory()) return collect(folder, path);
        return STORED_POSTS.test(entry.name) ? fileAt(folder, path) : [];
      }),
  );
  return found.flat();
}

/** A file, or the file that a link points to. */
async function fileAt(folder: string, path: string): Promise<readonly ListedFile[]> {
  const file = join(folder, path);
  const found = await withStorageError('read', file, () => stat(file));
  return found.isFile() ? [{ path, bytes: found.size, modifiedMs: found.mtimeMs }] : [];
}
