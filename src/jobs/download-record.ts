import path from 'node:path';
import { StorageError } from '../errors.js';
import { isCount, isTexts } from '../json/json-checks.js';
import { isShare, type Share } from '../share.js';
import { nodeFileSystem, readIfThere } from '../storage/file-system.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import type { CheckedFile } from './check-job-file.js';
import type { VerdictBasis } from './job-verdict.js';

/** Hidden, so that readers of the folder as an archive skip it. */
const NAME = '.millrace-download.json';

/** A file that a download has checked. */
export interface RecordedFile extends CheckedFile {
  /** Its segment. */
  readonly name: string;
  /** Below the folder. */
  readonly path: string;
}

/** What a download has put into its folder, for the verdict over all shares of its job. */
export interface DownloadRecord {
  readonly basis: VerdictBasis;
  readonly share: Share;
  readonly files: readonly RecordedFile[];
  readonly missing: readonly string[];
}

/** Replaces the record of a folder. */
export async function writeRecord(folder: string, record: DownloadRecord): Promise<void> {
  const file = path.join(folder, NAME);
  await withStorageError('write', file, () =>
    replaceFile(file, `${JSON.stringify(record, null, 1)}\n`, { aside: `${file}.part` }),
  );
}

/** @throws StorageError for a folder without one, or with one that is damaged. */
export async function readRecord(folder: string): Promise<DownloadRecord> {
  const file = path.join(folder, NAME);
  const text = await withStorageError('read', file, () => readIfThere(nodeFileSystem, file));
  if (text === undefined)
    throw new StorageError(
      `No download into the folder ${folder} has ended. Run jobs.download into it`,
      { path: folder },
    );
  const record = parsed(text);
  if (record === undefined)
    throw new StorageError(`${file} is damaged. Run jobs.download into the folder again`, {
      path: file,
    });
  return record;
}

function parsed(text: string): DownloadRecord | undefined {
  try {
    const record = JSON.parse(text) as DownloadRecord;
    const { basis, files, missing, share } = record;
    const { job, urlCount, listed, totalBytes = 0 } = basis;
    const isWhole =
      isTexts([job.uuid, job.title]) &&
      isTexts(basis.suspectMinutes) &&
      isTexts(missing) &&
      [urlCount, listed, totalBytes, job.results.activityCount ?? 0].every(isCount) &&
      files.every(
        ({ name, path: below, bytes, posts, suspectMinutes }) =>
          isTexts([name, below]) && isTexts(suspectMinutes) && isCount(bytes) && isCount(posts),
      );
    return isWhole && isShare(share) ? record : undefined;
  } catch {
    return undefined;
  }
}
