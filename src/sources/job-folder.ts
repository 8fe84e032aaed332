import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Job } from '../client/job.js';
import { StorageError } from '../errors.js';
import { keepFile, storing } from './keep-file.js';

/** Hidden, so that whoever reads the folder as an archive does not see it. */
const NAME = '.millrace-job.json';

/**
 * Writes into a folder which job it holds. Segments of another job would look like this one's.
 *
 * @throws StorageError when it holds another job.
 */
export async function claimFolder(folder: string, job: Job): Promise<void> {
  const file = path.join(folder, NAME);
  const before = await uuidIn(file);
  if (before === job.uuid) return;
  if (before !== undefined)
    throw new StorageError(
      `The folder ${folder} holds the job ${before}, not ${job.uuid} (${JSON.stringify(job.title)}). Choose another folder`,
      { path: folder },
    );
  const { uuid, title, fromDate, toDate } = job;
  await keepFile(file, part =>
    part.writeFile(`${JSON.stringify({ job: uuid, title, fromDate, toDate }, null, 2)}\n`),
  );
}

async function uuidIn(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await storing(file, () => readFile(file, 'utf8'));
  } catch (error) {
    if (error instanceof StorageError && isAbsent(error.cause)) return undefined;
    throw error;
  }
  const [, uuid = 'unknown'] = /"job":\s*"([^"]*)"/.exec(text) ?? [];
  return uuid;
}

function isAbsent(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}
