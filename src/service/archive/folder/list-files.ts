import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../../../errors.js';

/** A file of posts, and how to tell that it has changed. */
export interface ListedFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

const POSTS = /\.(?:json|jsonl|ndjson)(?:\.gz)?$/i;

/**
 * The files of a folder and the folders in it that hold posts by their names, in the order of their
 * paths. What begins with a dot is left out.
 *
 * @throws StorageError when the folder cannot be read.
 */
export async function listFiles(folder: string): Promise<readonly ListedFile[]> {
  const files: ListedFile[] = [];
  await collect(folder, '', files);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function collect(folder: string, within: string, files: ListedFile[]): Promise<void> {
  const here = join(folder, within);
  const entries = await readdir(here, { withFileTypes: true }).catch(cause => {
    throw new StorageError(`Cannot read the archive folder ${here}: ${cause.message}`, {
      path: here,
      cause,
    });
  });
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = within === '' ? entry.name : `${within}/${entry.name}`;
    if (entry.isDirectory()) {
      await collect(folder, path, files);
      continue;
    }
    if (!POSTS.test(entry.name)) continue;
    const { size, mtimeMs, isFile } = await fileStat(join(folder, path));
    if (isFile) files.push({ path, bytes: size, modifiedMs: mtimeMs });
  }
}

/** Of what a link points to, too. */
async function fileStat(path: string) {
  try {
    const found = await stat(path);
    return { size: found.size, mtimeMs: found.mtimeMs, isFile: found.isFile() };
  } catch (cause) {
    throw new StorageError(`Cannot read ${path}`, { path, cause });
  }
}
