import { setMaxListeners } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { DataError, IncompleteError, isNodeError, OptionError } from '../errors.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { LinkedAbort } from '../linked-abort.js';
import type { Lock } from '../storage/lock.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import { type CheckedFile, checkJobFileStream } from './check-job-file.js';
import { type FetchRun, fetchJobFile, isFileError } from './fetch-job-file.js';
import type { JobName } from './job.js';
import { type JobFile, readJobFiles } from './job-file-list.js';
import { checkDownload, type JobFilesOptions } from './job-files.js';
import { lockJobFolder } from './job-folder.js';
import { type JobVerdict, jobVerdict } from './job-verdict.js';

export interface DownloadJobOptions extends Pick<JobFilesOptions, 'concurrency' | 'totals'> {
  /** Made if it is not there. A folder holds the files of one job, and one download writes to it at a time. */
  readonly folder: string;
  /** Told after each file that is there, whether it came now or was there before. */
  readonly onFile?: ((file: DownloadedFile) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface DownloadedFile extends CheckedFile {
  readonly path: string;
  /** Whether it was there already, whole. */
  readonly known: boolean;
  /** Files that are there now, and files in all. */
  readonly done: number;
  readonly total: number;
}

/** After so many files in a row that cannot be had, the others will not come either. */
const GIVE_UP = 8;

/**
 * Downloads the gzip files of a delivered job into a folder, each named by the ten minutes that it
 * covers: `20240101/0010.json.gz`. The folder is then an archive for `localFiles` and for the local
 * service. Each file is checked as `jobFiles` does, before it gets its name.
 *
 * Run again, whenever it was stopped, it fetches only what is missing: files that are there are known
 * by their content.
 *
 * @throws OptionError before anything is sent.
 * @throws JobError for a job that is not delivered, or has expired.
 * @throws IncompleteError when not all can be had; what can be is in the folder. `missing` are segments,
 * and `cause` says why: a `StorageError` for a full disk, for example.
 * @throws StorageError for a folder that holds another job, or that another download writes to.
 * @throws What `onFile` throws: the download ends there.
 * @example
 * const verdict = await jobs.download(account(), job, { folder: 'archive', concurrency: 8 });
 * console.log(verdict.summary);
 * process.exitCode = verdict.exitCode;
 */
export async function downloadJob(
  account: Account,
  job: JobName,
  options: DownloadJobOptions,
): Promise<JobVerdict> {
  checkNames('options', options, ['folder', 'concurrency', 'totals', 'onFile', 'signal']);
  checkDownload(account, job, options);
  const { folder } = options;
  if (typeof folder !== 'string' || folder === '')
    throw new OptionError('folder', 'Expected `folder` to be the path of a folder');
  const own = new LinkedAbort(options.signal);
  try {
    return await download(account, job, options, own);
  } finally {
    own.unlink();
  }
}

async function download(
  account: Account,
  job: JobName,
  { folder, concurrency = 4, onFile, totals = 'require', ...options }: DownloadJobOptions,
  own: LinkedAbort,
): Promise<JobVerdict> {
  const { signal } = own;
  // Every file under way listens to it, which is no leak.
  setMaxListeners(0, signal);
  const list = await readJobFiles(account, job, signal);
  const lock = await lockJobFolder(folder, list.job);

  const checked = new Map<JobFile, CheckedFile>();
  let failures = 0;
  let lastError: Error | undefined;
  const keep = async (file: JobFile) => {
    signal.throwIfAborted();
    const to = path.join(folder, file.path);
    const before = await checkKept(to, signal);
    const found = before ?? (await fetchTo(file, to, { account, list, signal, lock }));
    failures = 0;
    checked.set(file, found);
    const done = checked.size;
    tell({ ...found, path: to, known: before !== undefined, done, total: list.files.length });
  };
  const thrown: unknown[] = [];
  const tell = (file: DownloadedFile) => {
    try {
      if (thrown.length === 0) onFile?.(file);
    } catch (error) {
      thrown.push(error);
      own.abort();
    }
  };
  let fatal: Error | undefined;
  const keepOrMiss = async (file: JobFile) => {
    try {
      await keep(file);
    } catch (error) {
      if (!(error instanceof Error) || own.signal.aborted) return;
      if (!options.signal?.aborted) lastError = error;
      if (isFileError(error) && ++failures < GIVE_UP) return;
      fatal = error;
      own.abort();
    }
  };
  try {
    const limit = pLimit(concurrency);
    await limit.map(list.files, keepOrMiss);
    failures = 0;
    const late = list.files.filter(file => !checked.has(file));
    if (fatal === undefined) await limit.map(late, keepOrMiss);
  } finally {
    await lock.release();
  }
  options.signal?.throwIfAborted();
  if (thrown.length > 0) throw thrown[0];

  const found = [...checked.values()];
  const sum = (of: (file: CheckedFile) => number) => found.reduce((all, file) => all + of(file), 0);
  const missing = list.files.filter(file => !checked.has(file)).map(file => file.name);
  const verdict = jobVerdict(list, {
    files: found.length,
    bytes: sum(file => file.bytes),
    posts: sum(file => file.posts),
    suspectMinutes: found.flatMap(file => file.suspectMinutes),
    missing,
  });
  if (verdict.missing.length === 0 || (totals === 'report' && missing.length === 0)) return verdict;
  const reason = lastError === undefined ? '' : `. The last error: ${lastError.message}`;
  throw new IncompleteError(`${verdict.summary}${reason}`, {
    cause: lastError,
    missing: verdict.missing,
    retryable: true,
  });
}

/** What a file that is there holds; `undefined` where there is none, or it is not whole. */
async function checkKept(file: string, signal: AbortSignal): Promise<CheckedFile | undefined> {
  return withStorageError('read', file, async () => {
    try {
      return await checkJobFileStream(createReadStream(file, { signal }), file);
    } catch (error) {
      if (error instanceof DataError || isNodeError(error, 'ENOENT')) return undefined;
      throw error;
    }
  });
}

function fetchTo(
  file: JobFile,
  to: string,
  { lock, ...run }: FetchRun & { readonly lock: Lock },
): Promise<CheckedFile> {
  const aside = `${to}.part`;
  const write = async (body: AsyncIterable<Buffer>, part: FileHandle, url: string) => {
    for await (const chunk of body) await part.appendFile(chunk);
    // What counts is what is in the file, not what came.
    const checked = await checkJobFileStream(createReadStream(aside, { signal: run.signal }), url);
    await lock.check();
    return checked;
  };
  return fetchJobFile(file, run, ({ body, url }) =>
    withStorageError(
      'keep',
      to,
      async () => {
        await mkdir(path.dirname(to), { recursive: true });
        return replaceFile(to, part => write(body, part, url), { aside });
      },
      ', then run the same again: it fetches what is missing',
    ),
  );
}
