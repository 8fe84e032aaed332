import { stat } from 'node:fs/promises';
import path from 'node:path';
import { optionError } from '../check.js';
import { isNodeError, StorageError } from '../errors.js';
import { shareName } from '../share.js';
import { withStorageError } from '../storage/storage-error.js';
import { type DownloadRecord, type RecordedFile, readRecord } from './download-record.js';
import { type JobVerdict, jobVerdict } from './job-verdict.js';

/**
 * The verdict over the folders into which `jobs.download` has put the shares of a job: complete only when
 * every share is there and complete, and all together have the totals that the service states. Nothing
 * is requested: each folder has a record of its download. Files must still be there with their size.
 *
 * @param folders One for each share, in any order.
 * @returns As of `jobs.download`; `missing` also lists shares, such as `share 3/8`.
 * @throws OptionError for no folder.
 * @throws StorageError for a folder without a finished download, of another job, of another number of
 * shares, or of a share that another folder has, too.
 * @example
 * const { summary, exitCode } = await jobs.verdict(['share-1', 'share-2', 'share-3', 'share-4']);
 */
export async function foldersVerdict(folders: readonly string[]): Promise<JobVerdict> {
  if (
    !Array.isArray(folders) ||
    folders.length === 0 ||
    folders.some(one => typeof one !== 'string')
  )
    throw optionError('jobs.verdict', 'folders', 'must be a list of folders, one at least');
  const records = await Promise.all(folders.map(readRecord));
  const first = records[0] as DownloadRecord;
  const byShare = new Map<number, string>();
  for (const [at, record] of records.entries()) {
    const folder = folders[at] as string;
    const problem = problemOf(record, first, byShare.get(record.share.index));
    if (problem !== undefined)
      throw new StorageError(
        `The folder ${folder} holds ${problem}. Pass one folder for each share of one job`,
        { path: folder },
      );
    byShare.set(record.share.index, folder);
  }
  const gone: string[] = [];
  const found: RecordedFile[] = [];
  for (const [at, record] of records.entries())
    for (const file of record.files)
      if (await isThere(path.join(folders[at] as string, file.path), file.bytes)) found.push(file);
      else gone.push(file.name);
  const absent: string[] = [];
  for (let index = 1; index <= first.share.of; index++)
    if (!byShare.has(index)) absent.push(`share ${shareName({ index, of: first.share.of })}`);
  const sum = (of: (file: RecordedFile) => number) =>
    found.reduce((all, file) => all + of(file), 0);
  return jobVerdict(
    { ...first.basis, listed: Math.min(...records.map(({ basis }) => basis.listed)) },
    {
      files: found.length,
      bytes: sum(file => file.bytes),
      posts: sum(file => file.posts),
      suspectMinutes: found.flatMap(file => file.suspectMinutes),
      missing: [...records.flatMap(({ missing }) => missing), ...gone].toSorted().concat(absent),
    },
  );
}

function problemOf(
  { basis, share }: DownloadRecord,
  first: DownloadRecord,
  other: string | undefined,
): string | undefined {
  const { uuid } = first.basis.job;
  if (basis.job.uuid !== uuid)
    return `the job ${basis.job.uuid}, and another folder the job ${uuid}`;
  if (share.of !== first.share.of)
    return `the share ${shareName(share)}, and another folder the share ${shareName(first.share)}`;
  if (other !== undefined) return `the share ${shareName(share)}, as the folder ${other} does`;
  return undefined;
}

async function isThere(file: string, bytes: number): Promise<boolean> {
  return withStorageError('read', file, async () => {
    try {
      return (await stat(file)).size === bytes;
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return false;
      throw error;
    }
  });
}
