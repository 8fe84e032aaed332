import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, realpath, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../temporary-folder.js';

const NAME = '.millrace-index';

/**
 * The folder for the indexes of an archive: beside its files, or among the system's temporary files
 * where the archive may not be written to.
 */
export async function findIndexFolder(folder: string): Promise<string> {
  const beside = join(folder, NAME);
  if (await isSafeFolder(beside)) return beside;
  const digest = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 16);
  const elsewhere = join(tmpdir(), `millrace-index-${process.getuid?.() ?? 0}-${digest}`);
  if (await isSafeFolder(elsewhere)) return elsewhere;
  return temporaryFolder('index');
}

/** Whether there is, or now is, a folder that belongs to this user and nobody else can change. */
async function isSafeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 }).catch(error => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await lstat(path);
    const isOwn = process.getuid === undefined || found.uid === process.getuid();
    if (!found.isDirectory() || !isOwn || (found.mode & 0o022) !== 0) return false;
    // Found out now rather than in the middle.
    const probe = await mkdtemp(join(path, '.probe-'));
    await rmdir(probe);
    return true;
  } catch {
    return false;
  }
}
