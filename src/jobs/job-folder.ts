import path from 'node:path';
import { StorageError } from '../errors.js';
import { nodeFileSystem, readIfThere } from '../storage/file-system.js';
import { type Lock, takeLock } from '../storage/lock.js';
import { makeSyncedFolder } from '../storage/make-folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import type { Job } from './job.js';

/** Both are hidden, so that readers of the folder as an archive skip them. */
const NAME = '.millrace-job.json';
const LOCK = '.millrace-job.lock';

/**
 * Creates a folder if it does not exist, locks it, and writes into it which job it holds: the segments
 * of two jobs have the same names.
 *
 * @throws StorageError when another download has the lock, or the folder holds another job.
 */
export async function lockJobFolder(folder: string, job: Job): Promise<Lock> {
  await withStorageError('make', folder, () => makeSyncedFolder(folder));
  const lock = await takeLock(path.join(folder, LOCK), {
    refusal: `Another download writes to the folder ${folder}`,
  });
  try {
    await writeJob(folder, job);
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function writeJob(folder: string, job: Job): Promise<void> {
  const file = path.join(folder, NAME);
  const before = await withStorageError('read', file, () => readIfThere(nodeFileSystem, file));
  if (before === undefined) {
    const { uuid, title, fromDate, toDate } = job;
    const content = `${JSON.stringify({ job: uuid, title, fromDate, toDate }, null, 2)}\n`;
    await withStorageError('write', file, () =>
      replaceFile(file, content, { aside: `${file}.part` }),
    );
    return;
  }
  const [, uuid = 'unknown'] = /"job":\s*"([^"]*)"/.exec(before) ?? [];
  if (uuid !== job.uuid)
    throw new StorageError(
      `The folder ${folder} holds the job ${uuid}, not ${job.uuid} (${JSON.stringify(job.title)}). Choose another folder`,
      { path: folder },
    );
}
