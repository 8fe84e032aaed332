import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, realpath, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../temporary-folder.js';

const NAME = '.millrace-index';

/**
 * The folder for the indexes of an archive: in the archive, or in the system's temporary folder if
 * the archive is read-only.
 */
export async function findIndexFolder(folder: string): Promise<string> {
  const inArchive = join(folder, NAME);
  if (await isSafeFolder(inArchive)) return inArchive;
  const digest = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 16);
  const temporary = join(tmpdir(), `millrace-index-${process.getuid?.() ?? 0}-${digest}`);
  if (await isSafeFolder(temporary)) return temporary;
  return temporaryFolder('index');
}

/**
 * Creates the folder if needed. Returns whether it belongs to this user and no other user can change
 * it.
 */
async function isSafeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 }).catch(error => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await lstat(path);
    const isOwner = process.getuid === undefined || found.uid === process.getuid();
    if (!found.isDirectory() || !isOwner || (found.mode & 0o022) !== 0) return false;
    // Detects a read-only disk before the index is built.
    const probe = await mkdtemp(join(path, '.probe-'));
    await rmdir(probe);
    return true;
  } catch {
    return false;
  }
}
