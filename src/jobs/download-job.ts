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
 * The folder of a download, how many files are fetched at a time, and what to do about wrong totals.
 */
export interface DownloadJobOptions
  extends Pick<JobFilesOptions, 'concurrency' | 'totals' | 'shard'> {
  /**
   * Created if it does not exist. It holds the files of one job, and one download writes to it at a
   * time.
   */
  readonly folder: string;
  /**
   * Called for each complete file, whether it was downloaded now or earlier. A promise is awaited; what
   * it throws ends the download.
   */
  readonly onFile?: ((file: DownloadedFile) => unknown) | undefined;
  /** Ends the download: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A file of a job that is in the folder, as `onFile` is told. */
export interface DownloadedFile extends CheckedFile {
  readonly path: string;
  /** Whether it was complete before this download. */
  readonly known: boolean;
  /** Files that are complete so far. */
  readonly done: number;
  /** Files of the job. */
  readonly total: number;
}

const OPTIONS = {
  ...DOWNLOAD_OPTIONS,
  folder: required(text('the folder for the files')),
  onFile: func('called for each complete file'),
  signal: signal(),
} satisfies OptionTable<DownloadJobOptions>;

/**
 * Downloads the gzip files of a delivered job into a folder, each named by the ten minutes that it
 * covers: `20240101/0010.json.gz`. The folder is then an archive for `localFiles` and for the local
 * service. Each file is checked, as by `jobFiles`, before it gets its name.
 *
 * Called again after it was stopped, it checks the files in the folder and fetches only the missing
 * ones.
 *
 * @returns The verdict: totals, missing segments and suspect minutes.
 * @throws OptionError before anything is sent.
 * @throws JobError for a job that is not delivered, or has expired.
 * @throws IncompleteError if files are missing; the others are in the folder. `missing` lists their
 * segments, and `cause` is the last error: a `StorageError` for a full disk, for example.
 * @throws StorageError for a folder that holds another job, or that another download writes to.
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
      // Where files are missing, as on a full disk, the error says which.
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
 * Stores the files of a list that are not in the folder yet. Adds what is in the folder to `checked`.
 *
 * @returns The last error about a file, or the one that has ended the download early.
 * @throws What `onFile` throws, and the reason of the caller's signal.
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
      // A download that ends for another reason does not wait for the function.
      if (!signal.aborted) thrown = { error };
      throw error;
    }
  };
  const storeFile = async (file: JobFile, signal: AbortSignal) => {
    signal.throwIfAborted();
    const to = path.join(folder, file.path);
    const before = await checkStored(to, signal);
    // A killed download may not have synced what it has put there.
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
        // Earlier files need not be waited for.
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
    // A file that was stopped by the failure of another may be the first to end.
    lastError = signal.aborted ? signal.reason : error;
  }
  return lastError;
}

/** Calls a function once for each text. */
function eachOnce(call: (text: string) => Promise<void>): (text: string) => Promise<void> {
  const called = new Map<string, Promise<void>>();
  return text => {
    const result = called.get(text) ?? call(text);
    called.set(text, result);
    return result;
  };
}

/** Resolves once the folder, and the names that are in it now, survive a power cut. @throws StorageError */
function makeWithNames(folder: string): Promise<void> {
  return withStorageError('create the folder', folder, async () => {
    await makeSyncedFolder(folder);
    await syncFolder(folder);
  });
}

/** The contents of a file in the folder; `undefined` if it does not exist or is not complete. */
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
    // Checks the bytes in the file rather than the received ones.
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
