import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { IncompleteError, OptionError } from '../errors.js';
import { type Batches, type Cursor, Flow, type Run } from '../flow/flow.js';
import { workAhead } from '../flow/work-ahead.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { checkWhole } from '../search/query.js';
import { parseTimestamp, SEGMENT } from '../time.js';
import { fetchJobFile, isFileError } from './fetch-job-file.js';
import { type JobName, uuidOf } from './job.js';
import { jobsUrl } from './job-calls.js';
import { type JobFile, type JobFileList, readJobFiles } from './job-file-list.js';
import { DownloadCursors, type DownloadState } from './job-files-cursor.js';
import { type JobVerdict, jobVerdict } from './job-verdict.js';
import { MemoryBudget } from './memory-budget.js';
import { type StoredJobFile, storeJobFile } from './stored-job-file.js';

export interface JobFilesOptions {
  /**
   * Files that are downloaded side by side.
   * @default 4
   */
  readonly concurrency?: number | undefined;
  /**
   * What to do when all files are there and whole, but the service says that the job has other
   * totals of files, bytes or posts: fail, or only say so in the verdict.
   * @default 'require'
   */
  readonly totals?: 'require' | 'report' | undefined;
  /** Told once, at the end, how the download went, also when it then fails. */
  readonly onVerdict?: ((verdict: JobVerdict) => void) | undefined;
  /** Where to go on: the cursor of a batch or an `IncompleteError`. A checkpoint does this by itself. */
  readonly resume?: Cursor | undefined;
}

/** Bytes of files that wait for their turn; with more they go to temporary files. */
const MOST_WAITING = 20 * 1024 * 1024;
/** Bytes of what they hold; what goes beyond is inflated again when its turn comes. */
const MOST_INFLATED = 12 * 1024 * 1024;
/** Files that may wait for an earlier one while as many as asked for are under way. */
const WAITING = 2;
/** After so many files in a row that cannot be had, the others will not come either. */
const GIVE_UP = 8;

/**
 * The gzip files of a delivered job in time order (service.md 2.6), with an edge at the end of each.
 * They are downloaded side by side, and each is checked before it is handed on: whole gzip, and as
 * many posts as its `info` line says. What is damaged, cut or missing is fetched again a few times;
 * the rest comes first, and those files once more at the end.
 *
 * The flow ends when all files are there, with the totals that the service tells. A run goes on after
 * the last file that is done, and fetches those that were missing before.
 *
 * @throws OptionError at once, for options that cannot work.
 * @throws JobError from the flow, for a job that is not delivered, or has expired.
 * @throws IncompleteError from the flow: `missing` are segments, `cursor` is where to go on.
 * @example
 * await pipeline(
 *   jobFiles(acme, job, { onVerdict: verdict => console.error(verdict.summary) }),
 *   gunzip(),
 *   jsonLines(),
 *   activities(),
 *   dedupe(),
 *   files({ path: 'out/{day}.jsonl', checkpoint: 'out/checkpoint.json' }),
 * );
 */
export function jobFiles(
  account: Account,
  job: JobName,
  options: JobFilesOptions = {},
): Flow<Uint8Array> {
  checkNames('options', options, ['concurrency', 'totals', 'onVerdict', 'resume']);
  checkDownload(account, job, options);
  return new Flow(run => new Download(account, job, options, run).batches(), undefined, [
    { step: 'jobFiles', job: uuidOf(job) },
  ]);
}

export function checkDownload(
  account: Account,
  job: JobName,
  { concurrency = 4, totals = 'require' }: Pick<JobFilesOptions, 'concurrency' | 'totals'>,
): void {
  jobsUrl(account, `jobs/${uuidOf(job)}.json`);
  checkWhole('concurrency', concurrency, 1, 64);
  if (totals !== 'require' && totals !== 'report')
    throw new OptionError('totals', `Expected \`totals\` to be 'require' or 'report'`);
}

type Fetched = { readonly stored: StoredJobFile } | { readonly error: Error };

/** One run of the source. */
class Download {
  readonly #account: Account;
  readonly #job: JobName;
  readonly #options: JobFilesOptions;
  readonly #run: Run;
  readonly #memory = {
    waiting: new MemoryBudget(MOST_WAITING),
    inflated: new MemoryBudget(MOST_INFLATED),
  };
  /** Stored files that were not handed on. */
  readonly #stored = new Set<StoredJobFile>();
  #over = false;
  #lastError: Error | undefined;

  constructor(account: Account, job: JobName, options: JobFilesOptions, run: Run) {
    this.#account = account;
    this.#job = job;
    this.#options = options;
    this.#run = run;
  }

  async *batches(): Batches<Uint8Array> {
    const { signal, resume = this.#options.resume } = this.#run;
    // Every file under way listens to it, which is no leak.
    setMaxListeners(0, signal);
    const list = await readJobFiles(this.#account, this.#job, signal);
    const places = new DownloadCursors(list);
    let place = places.stateAt(resume);
    try {
      for await (const { file, fetched } of this.#fetchAll(list, list.files.slice(place.next))) {
        place = { ...place, next: place.next + 1 };
        if ('error' in fetched) {
          place = { ...place, missing: [...place.missing, file.name] };
          continue;
        }
        place = added(place, fetched.stored);
        this.#count(file, place, list);
        yield* this.#handOn(fetched.stored, places.cursorAt(place));
      }
      const late = list.files.filter(file => place.missing.includes(file.name));
      for await (const { file, fetched } of this.#fetchAll(list, late)) {
        if ('error' in fetched) continue;
        const missing = place.missing.filter(name => name !== file.name);
        place = added({ ...place, missing }, fetched.stored);
        this.#count(file, place, list);
        yield* this.#handOn(fetched.stored, places.cursorAt(place));
      }
    } catch (cause) {
      signal.throwIfAborted();
      throw this.#end(list, place, places, cause) ?? cause;
    } finally {
      this.#over = true;
      for (const stored of this.#stored) await stored.release();
    }
    const error = this.#end(list, place, places, this.#lastError);
    if (error !== undefined) throw error;
  }

  async *#fetchAll(list: JobFileList, files: readonly JobFile[]) {
    const { concurrency = 4 } = this.#options;
    const limit = pLimit(concurrency);
    const fetch = (file: JobFile) => limit(() => this.#fetch(list, file));
    let failures = 0;
    try {
      for await (const { item: file, result } of workAhead(
        from(files),
        fetch,
        concurrency + WAITING,
      )) {
        const fetched = result as Fetched;
        failures = 'error' in fetched ? failures + 1 : 0;
        yield { file, fetched };
        if (failures === GIVE_UP) throw this.#lastError;
      }
    } finally {
      limit.clearQueue();
    }
  }

  /** Rejects only where the other files would fail as well. */
  async #fetch(list: JobFileList, file: JobFile): Promise<Fetched> {
    const { signal, progress } = this.#run;
    const onBytes = (bytes: number) => {
      if (progress !== undefined) progress.receivedBytes += bytes;
    };
    try {
      const stored = await fetchJobFile(file, { account: this.#account, list, signal }, answer =>
        storeJobFile(answer, this.#memory, onBytes),
      );
      if (this.#over) await stored.release();
      else this.#stored.add(stored);
      return { stored };
    } catch (error) {
      if (signal.aborted || !isFileError(error)) throw error;
      this.#lastError = error;
      return { error };
    }
  }

  async *#handOn(stored: StoredJobFile, cursor: Cursor): Batches<Uint8Array> {
    const { whole, origin } = stored;
    this.#stored.delete(stored);
    try {
      if (whole !== undefined) yield { items: [whole], cursor, origin };
      else {
        for await (const block of stored.blocks()) yield { items: [block], origin };
        yield { items: [], cursor, origin };
      }
    } finally {
      await stored.release();
    }
  }

  #count({ name }: JobFile, place: DownloadState, list: JobFileList): void {
    const { progress } = this.#run;
    if (progress === undefined) return;
    progress.received++;
    progress.fraction = place.files / Math.max(list.urlCount, list.files.length);
    const start = parseTimestamp(name);
    if (start !== undefined) progress.reached = start + SEGMENT;
  }

  /** Tells the verdict. The error, unless all is there. */
  #end(
    list: JobFileList,
    place: DownloadState,
    places: DownloadCursors,
    cause: unknown,
  ): IncompleteError | undefined {
    const rest = list.files.slice(place.next).map(file => file.name);
    const verdict = jobVerdict(list, { ...place, missing: [...place.missing, ...rest] });
    this.#options.onVerdict?.(verdict);
    const filesMissing = place.missing.length + rest.length > 0;
    const excused = this.#options.totals === 'report' && !filesMissing;
    if (verdict.missing.length === 0 || excused) return undefined;
    const reason = cause instanceof Error ? `. The last error: ${cause.message}` : '';
    return new IncompleteError(`${verdict.summary}${reason}`, {
      cause,
      missing: verdict.missing,
      cursor: places.cursorAt(place),
      retryable: true,
    });
  }
}

function added(
  place: DownloadState,
  { bytes, posts, suspectMinutes }: StoredJobFile,
): DownloadState {
  return {
    ...place,
    files: place.files + 1,
    bytes: place.bytes + bytes,
    posts: place.posts + posts,
    suspectMinutes:
      suspectMinutes.length === 0
        ? place.suspectMinutes
        : [...place.suspectMinutes, ...suspectMinutes],
  };
}

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
