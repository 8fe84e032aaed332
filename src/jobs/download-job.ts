import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { LimitFunction } from 'p-limit';
import { answerOf, LinkedAbort } from '../base/abortable.js';
import {
  type Checked,
  checkOptions,
  func,
  type OptionTable,
  required,
  signal,
  text,
} from '../base/check.js';
import { DataError, isNodeError } from '../base/errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { openToRead } from '../storage/file-system.js';
import { makeSyncedFolder, syncFolder } from '../storage/folder.js';
import type { Lock } from '../storage/lock.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import { type CheckedFile, checkJobFileStream } from './check-job-file.js';
import { lockJobFolder, writeRecord } from './download-folder.js';
import { fetchJobFiles, isFileError, retryJobFile } from './fetch-job-file.js';
import type { JobName } from './job.js';
import { jobUrl } from './job-calls.js';
import { type JobFile, type JobFileList, readJobFiles } from './job-file-list.js';
import { DOWNLOAD_OPTIONS, type JobFilesOptions } from './job-files.js';
import { incompleteJob, type JobVerdict, jobVerdict, sumDelivered } from './job-verdict.js';

/**
 * Options of `jobs.download`: the folder, the number of concurrent downloads, and what to do if totals are
 * wrong.
 */
export interface DownloadJobOptions
  extends Pick<JobFilesOptions, 'concurrency' | 'totals' | 'shard'> {
  /**
   * The folder for the files. It is created if it does not exist. A folder can hold the files of only one
   * job, and only one download can write to it at a time.
   */
  readonly folder: string;
  /**
   * Called for each complete file, whether it was downloaded now or earlier. If it returns a promise, the
   * download waits for it. If it throws or the promise rejects, the download ends with that error.
   */
  readonly onFile?: ((file: DownloadedFile) => unknown) | undefined;
  /** Ends the download, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The argument of `onFile`: a file of the job that is in the folder. */
export interface DownloadedFile extends CheckedFile {
  readonly path: string;
  /** Whether the file was already complete before this download. */
  readonly known: boolean;
  /** How many files are complete so far, including this file. */
  readonly done: number;
  /** How many files the job has. If a shard is downloaded, how many files the shard has. */
  readonly total: number;
}

const OPTIONS = {
  ...DOWNLOAD_OPTIONS,
  folder: required(text('the folder for the files')),
  onFile: func('called for each complete file'),
  signal: signal(),
} satisfies OptionTable<DownloadJobOptions>;

/**
 * Downloads the gzip files of a delivered job to a folder. Each file is named after the ten minutes that it
 * covers, such as `20240101/0010.json.gz`. `localFiles` and the local service can then read the folder as an
 * archive. Before a file gets its name, it is checked in the same way as in `jobFiles`.
 *
 * If a download was stopped, the next call checks the files in the folder and fetches only the missing files.
 *
 * @returns The verdict: totals, missing segments and suspect minutes.
 * @throws OptionError before anything is sent, if an option is invalid.
 * @throws JobError if the job is not delivered, or has expired.
 * @throws IncompleteError if files are missing, or if `totals` is `require` and the files' totals differ
 *   from the service's totals. All other files are in the folder. `missing` lists the segments of the missing
 *   files, and the totals that differ. `cause` is the last error, for example a `StorageError` because the
 *   disk is full.
 * @throws StorageError if the folder holds another job, or if another download is writing to it.
 * @throws The error of `onFile`, which ends the download.
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
  const checked = checkOptions('jobs.download', OPTIONS, options);
  jobUrl(account, job);
  const abort = new LinkedAbort(checked.signal);
  try {
    return await download(account, job, checked, abort);
  } finally {
    abort.unlink();
  }
}

type CheckedOptions = Checked<DownloadJobOptions, typeof OPTIONS>;

async function download(
  account: Account,
  job: JobName,
  options: CheckedOptions,
  abort: LinkedAbort,
): Promise<JobVerdict> {
  const { folder, totals, shard = account.settings.shard } = options;
  const list = await readJobFiles(account, job, shard, abort.signal);
  const { basis, files, part } = list;
  const lock = await lockJobFolder(folder, basis.job);
  const checked = new Map<JobFile, CheckedFile>();
  const missing = () => files.filter(file => !checked.has(file)).map(({ name }) => name);
  let lastError: unknown;
  try {
    const run = { list, lock, makeFolder: eachOnce(makeWithNames) };
    lastError = await storeFiles(run, options, abort, checked);
    await lock.check();
    await writeRecord(folder, {
      basis,
      shard: shard ?? { index: 1, of: 1 },
      files: [...checked].map(([file, found]) => ({ ...file, ...found })),
      missing: missing(),
    }).catch(error => {
      // If files are missing, this error is ignored. Both may have the same cause, such as a full disk, and
      // the error about the missing files is more important.
      if (checked.size === files.length) throw error;
    });
  } finally {
    await lock.release();
  }
  const verdict = jobVerdict(basis, sumDelivered([...checked.values()], missing()), part);
  const lacksFiles = checked.size < files.length;
  const error = incompleteJob(verdict, { totals, lacksFiles, cause: lastError });
  if (error !== undefined) throw error;
  return verdict;
}

interface StoreRun {
  readonly list: JobFileList;
  readonly lock: Lock;
  readonly makeFolder: (folder: string) => Promise<void>;
}

/**
 * Stores the files of `run.list` that are not in the folder yet. Adds every file that is in the folder to
 * `checked`.
 *
 * @returns The last error about a file, or the error that ended the download early.
 * @throws The error of `onFile`, or the reason of the caller's signal.
 */
async function storeFiles(
  run: StoreRun,
  { folder, concurrency, onFile, signal: ended }: CheckedOptions,
  abort: LinkedAbort,
  checked: Map<JobFile, CheckedFile>,
): Promise<unknown> {
  const { list } = run;
  let thrown: { readonly error: unknown } | undefined;
  const notify = async (file: DownloadedFile, signal: AbortSignal) => {
    try {
      await answerOf(onFile?.(file), signal);
    } catch (error) {
      // If the signal is aborted, the error may be the reason of the signal and not an error of `onFile`.
      if (!signal.aborted) thrown = { error };
      throw error;
    }
  };
  const storeFile = async (file: JobFile, signal: AbortSignal) => {
    signal.throwIfAborted();
    const to = path.join(folder, file.path);
    const before = await checkStored(to, signal);
    // An earlier download may have stopped between storing the file and syncing its folder, so the folder is
    // synced now.
    if (before !== undefined) await run.makeFolder(path.dirname(to));
    const found = before ?? (await fetchTo(file, to, run, signal));
    checked.set(file, found);
    const known = before !== undefined;
    const { length: total } = list.files;
    await notify({ ...found, path: to, known, done: checked.size, total }, signal);
  };
  const fetch = (file: JobFile, limit: LimitFunction, signal: AbortSignal) =>
    limit(async () => {
      try {
        await storeFile(file, signal);
      } catch (error) {
        // Aborts all other files, because this error ends the download.
        if (thrown !== undefined || !isFileError(error)) abort.abort(error);
        throw error;
      }
    });
  const { signal } = abort;
  const ahead = list.files.length;
  let lastError: unknown;
  try {
    const files = fetchJobFiles(list.files, [], { signal, concurrency, ahead, fetch });
    for await (const fetched of files) if ('error' in fetched) lastError = fetched.error;
  } catch (error) {
    ended?.throwIfAborted();
    if (thrown !== undefined) throw thrown.error;
    // If another failure has aborted the signal, that failure is the error to report.
    lastError = signal.aborted ? signal.reason : error;
  }
  return lastError;
}

function eachOnce(call: (text: string) => Promise<void>): (text: string) => Promise<void> {
  const called = new Map<string, Promise<void>>();
  return text => {
    const result = called.get(text) ?? call(text);
    called.set(text, result);
    return result;
  };
}

/**
 * Creates a folder. Resolves once the folder and the names of its files survive a power failure.
 *
 * @throws StorageError
 */
function makeWithNames(folder: string): Promise<void> {
  return withStorageError('create the folder', folder, async () => {
    await makeSyncedFolder(folder);
    await syncFolder(folder);
  });
}

/** Checks a file in the folder. Returns `undefined` if the file does not exist or is incomplete. */
async function checkStored(file: string, signal: AbortSignal): Promise<CheckedFile | undefined> {
  return withStorageError('read', file, async () => {
    try {
      return await checkJobFileStream((await openToRead(file)).createReadStream({ signal }), file);
    } catch (error) {
      if (error instanceof DataError || isNodeError(error, 'ENOENT')) return undefined;
      throw error;
    }
  });
}

function fetchTo(
  file: JobFile,
  to: string,
  { list, lock, makeFolder }: StoreRun,
  signal: AbortSignal,
): Promise<CheckedFile> {
  const temporary = `${to}.part`;
  const write = async (body: AsyncIterable<Buffer>, part: FileHandle, url: string) => {
    for await (const chunk of body) await part.appendFile(chunk);
    // Checks the bytes that were stored, not the bytes that were received.
    const checked = await checkJobFileStream(createReadStream(temporary, { signal }), url);
    await lock.check();
    return checked;
  };
  const store = ({ body, url }: HttpResponse) =>
    withStorageError(
      'write',
      to,
      async () => {
        await makeFolder(path.dirname(to));
        return replaceFile(to, part => write(body, part, url), { aside: temporary });
      },
      ', then run the same again: it fetches what is missing',
    );
  return retryJobFile(file, list, signal, request => request(store));
}
