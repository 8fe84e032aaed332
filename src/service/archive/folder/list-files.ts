import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { filesBelow } from '../../../storage/files-below.js';
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
  const paths = await filesBelow(folder, { match: name => STORED_POSTS.test(name) });
  return (await pLimit(OPEN).map(paths, path => fileAt(folder, path))).flat();
}

/** A file, or the file that a link points to. */
async function fileAt(folder: string, path: string): Promise<readonly ListedFile[]> {
  const file = join(folder, path);
  const found = await withStorageError('read', file, () => stat(file));
  if (!found.isFile()) return [];
  // What cannot be opened is reported once its posts are read.
  const isCheckpoint = await isCheckpointFile(file).catch(() => false);
  return isCheckpoint ? [] : [{ path, bytes: found.size, modifiedMs: found.mtimeMs }];
}
