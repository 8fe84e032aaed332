import { stat } from 'node:fs/promises';
import path from 'node:path';
import { optionError } from '../base/check.js';
import { StorageError } from '../base/errors.js';
import { isShard, type Shard, shardName } from '../base/shard.js';
import {
  isCount,
  isText,
  isTexts,
  listOf,
  optional,
  parsedAs,
  shaped,
} from '../json/type-guards.js';
import { ifThere, nodeFileSystem, readIfThere } from '../storage/file-system.js';
import { makeSyncedFolder } from '../storage/folder.js';
import { type Lock, takeLock } from '../storage/lock.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import type { CheckedFile } from './check-job-file.js';
import type { Job } from './job.js';
import type { JobFile } from './job-file-list.js';
import { type JobVerdict, jobVerdict, sumDelivered, type VerdictBasis } from './job-verdict.js';

/**
 * The files that record the job of a folder and lock the folder. `localFiles` and the local service skip
 * these files, because their names begin with a dot.
 */
const JOB_NAME = '.millrace-job.json';
const LOCK_NAME = '.millrace-job.lock';

/**
 * Creates a folder if it does not exist, locks it, and records which job it holds. The record prevents mixing
 * two jobs, whose files have the same names.
 *
 * @throws StorageError if another download has locked the folder, or the folder holds another job.
 */
export async function lockJobFolder(folder: string, job: Job): Promise<Lock> {
  await withStorageError('make', folder, () => makeSyncedFolder(folder));
  const lock = await takeLock(path.join(folder, LOCK_NAME), {
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
  const file = path.join(folder, JOB_NAME);
  const before = await withStorageError('read', file, () => readIfThere(nodeFileSystem, file));
  if (before === undefined) {
    const { uuid, title, fromDate, toDate } = job;
    return writeJson(file, { job: uuid, title, fromDate, toDate });
  }
  const [, uuid = 'unknown'] = /"job":\s*"([^"]*)"/.exec(before) ?? [];
  if (uuid !== job.uuid)
    throw new StorageError(
      `The folder ${folder} holds the job ${uuid}, not ${job.uuid} (${JSON.stringify(job.title)}). Choose another folder`,
      { path: folder },
    );
}

/**
 * The file that stores the `DownloadRecord` of a folder. `localFiles` and the local service skip this file,
 * because its name begins with a dot.
 */
const RECORD_NAME = '.millrace-download.json';

/** A file that a download has checked. Its path is relative to the folder of the download. */
type RecordedFile = CheckedFile & JobFile;

/**
 * The result of a download. It is stored in the folder of the download, and `jobs.verdict` reads it later.
 */
export interface DownloadRecord {
  readonly basis: VerdictBasis;
  readonly shard: Shard;
  readonly files: readonly RecordedFile[];
  readonly missing: readonly string[];
}

export async function writeRecord(folder: string, record: DownloadRecord): Promise<void> {
  await writeJson(path.join(folder, RECORD_NAME), record);
}

async function writeJson(file: string, value: object): Promise<void> {
  await withStorageError('write', file, () =>
    replaceFile(file, `${JSON.stringify(value, null, 2)}\n`, { aside: `${file}.part` }),
  );
}

/**
 * Reads the record of the download in a folder.
 *
 * @throws StorageError if the folder has no record, or a damaged one.
 */
export async function readRecord(folder: string): Promise<DownloadRecord> {
  const file = path.join(folder, RECORD_NAME);
  const text = await withStorageError('read', file, () => readIfThere(nodeFileSystem, file));
  if (text === undefined)
    throw new StorageError(
      `No download into the folder ${folder} has ended. Run jobs.download into it`,
      { path: folder },
    );
  const record = parsedAs(text, isWhole);
  if (record === undefined)
    throw new StorageError(`${file} is damaged. Run jobs.download into the folder again`, {
      path: file,
    });
  return record;
}

const isWhole = shaped<DownloadRecord>({
  basis: shaped<VerdictBasis>({
    job: shaped<VerdictBasis['job']>({
      uuid: isText,
      title: isText,
      results: shaped<VerdictBasis['job']['results']>({ activityCount: optional(isCount) }),
    }),
    urlCount: isCount,
    totalBytes: optional(isCount),
    listed: isCount,
    suspectMinutes: isTexts,
  }),
  shard: isShard,
  files: listOf(
    shaped<RecordedFile>({
      name: isText,
      path: isText,
      bytes: isCount,
      posts: isCount,
      suspectMinutes: isTexts,
    }),
  ),
  missing: isTexts,
});

/**
 * Returns one verdict about all shards of a job. Each shard is a folder into which `jobs.download` has stored
 * a part of the job. The verdict is complete only if no shard is missing or incomplete. The totals of all
 * shards must also equal the totals that the service states. Sends no requests, because each folder contains
 * a record of its download. A file that is gone or has a different size counts as missing.
 *
 * @param folders The folder of each shard, in any order.
 * @returns The same as `jobs.download`. `missing` also lists shards, such as `shard 3/8`.
 * @throws OptionError if there is no folder.
 * @throws StorageError if a folder has no finished download. Also thrown if the folders have different jobs
 *   or numbers of shards, or if two folders have the same shard.
 * @example
 * const { summary, exitCode } = await jobs.verdict(['shard-1', 'shard-2', 'shard-3', 'shard-4']);
 */
export async function foldersVerdict(folders: readonly string[]): Promise<JobVerdict> {
  if (!isTexts(folders) || folders.length === 0)
    throw optionError('jobs.verdict', 'folders', 'must be a list of folders, one at least');
  const records = await Promise.all(folders.map(readRecord));
  const first = records[0] as DownloadRecord;
  const byShard = new Map<number, string>();
  for (const [at, record] of records.entries()) {
    const folder = folders[at] as string;
    const problem = problemOf(record, first, byShard.get(record.shard.index));
    if (problem !== undefined)
      throw new StorageError(
        `The folder ${folder} holds ${problem}. Pass exactly one folder for each shard of the same job`,
        { path: folder },
      );
    byShard.set(record.shard.index, folder);
  }
  const gone: string[] = [];
  const found: RecordedFile[] = [];
  for (const [at, record] of records.entries())
    for (const file of record.files)
      if (await isThere(path.join(folders[at] as string, file.path), file.bytes)) found.push(file);
      else gone.push(file.name);
  const absent: string[] = [];
  for (let index = 1; index <= first.shard.of; index++)
    if (!byShard.has(index)) absent.push(`shard ${shardName({ index, of: first.shard.of })}`);
  const missing = [...records.flatMap(record => record.missing), ...gone].toSorted().concat(absent);
  const listed = Math.min(...records.map(({ basis }) => basis.listed));
  return jobVerdict({ ...first.basis, listed }, sumDelivered(found, missing));
}

function problemOf(
  { basis, shard }: DownloadRecord,
  first: DownloadRecord,
  other: string | undefined,
): string | undefined {
  const { uuid } = first.basis.job;
  if (basis.job.uuid !== uuid)
    return `the job ${basis.job.uuid}, and another folder the job ${uuid}`;
  if (shard.of !== first.shard.of)
    return `the shard ${shardName(shard)}, and another folder the shard ${shardName(first.shard)}`;
  if (other !== undefined) return `the shard ${shardName(shard)}, as the folder ${other} does`;
  return undefined;
}

async function isThere(file: string, bytes: number): Promise<boolean> {
  const found = await withStorageError('read', file, () => ifThere(stat(file)));
  return found?.size === bytes;
}
