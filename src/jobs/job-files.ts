import { createHash } from 'node:crypto';
import type { LimitFunction } from 'p-limit';
import { abortable, answerOf } from '../base/abortable.js';
import { type Checked, cursor, func, type OptionTable, oneOf, whole } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { SHARD_OPTION, type Shard, shardMember, shardName } from '../base/shard.js';
import { parseTimestamp, SEGMENT } from '../base/time.js';
import { fileFlow } from '../files/engine.js';
import type { Decoder, SourceFile } from '../files/file-source.js';
import type { Cursor, Flow, Run } from '../flow/flow.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import type { FileBytes } from '../json/records.js';
import { isCount, isTexts, shaped } from '../json/type-guards.js';
import { fetchJobFiles, retryJobFile } from './fetch-job-file.js';
import { type JobName, uuidOf } from './job.js';
import { jobUrl } from './job-calls.js';
import { type JobFile, type JobFileList, readJobFiles } from './job-file-list.js';
import { type Delivered, incompleteJob, type JobVerdict, jobVerdict } from './job-verdict.js';
import {
  type DecodeOnce,
  memoryBudget,
  receiveJobFile,
  type StoredJobFile,
} from './stored-job-file.js';

/** Options of `jobFiles`: how to download, what to do if totals are wrong, and a callback for the outcome. */
export interface JobFilesOptions {
  /**
   * The number of concurrent downloads, from 1 to 64.
   * @default 6
   */
  readonly concurrency?: number | undefined;
  /**
   * What to do if all files are complete, but their totals (files, bytes or posts) differ from the service's
   * totals: `require` fails, `report` only adds a line to the verdict.
   * @default 'require'
   */
  readonly totals?: 'require' | 'report' | undefined;
  /**
   * Called once at the end with the outcome of the download, even if the flow then fails. If it returns a
   * promise, the flow waits for it. If it throws or the promise rejects, the flow ends with that error.
   */
  readonly onVerdict?: ((verdict: JobVerdict) => unknown) | undefined;
  /**
   * The part of the files that this process downloads. Files are assigned to the shards in turn.
   * @default the account's `shard`, or all files
   */
  readonly shard?: Shard | undefined;
  /**
   * The cursor of a batch or of an error. The flow resumes from this cursor. A cursor in the checkpoint of
   * the sink takes precedence.
   */
  readonly resume?: Cursor | undefined;
}

/**
 * The maximum total size of the compressed files that wait in memory, in bytes. When the limit is reached,
 * further files are written to temporary files.
 */
const MAX_WAITING_BYTES = 20 * 1024 * 1024;
/**
 * The maximum total size of the inflated files that wait in memory, in bytes. When the limit is reached,
 * further files wait compressed, and are inflated a second time when they are delivered.
 */
const MAX_INFLATED_BYTES = 12 * 1024 * 1024;
/**
 * Files are delivered in order, so a downloaded file may have to wait for an earlier file. This is how many
 * files may wait, in addition to the files that are being downloaded.
 */
const WAITING_FILES = 2;
export const DOWNLOAD_OPTIONS = {
  concurrency: whole('files that are downloaded at the same time', { min: 1, max: 64, default: 6 }),
  totals: oneOf('what to do about other totals', ['require', 'report'], 'require'),
  shard: SHARD_OPTION,
} satisfies OptionTable<Pick<JobFilesOptions, 'concurrency' | 'totals' | 'shard'>>;

const OPTIONS = {
  ...DOWNLOAD_OPTIONS,
  onVerdict: func('called with the outcome'),
  resume: cursor(),
} satisfies OptionTable<JobFilesOptions>;

/**
 * Delivers the gzip files of a delivered job in chronological order, with a cursor after each file. Files are
 * downloaded concurrently. Each file is checked before it is delivered: it must be complete gzip, and must
 * have the number of posts that its `info` line states. A damaged, truncated or missing file is fetched again
 * a few times, and once more after all other files.
 *
 * When all files have been delivered, the flow compares their totals with the totals that the service states.
 * A resumed run continues after the last delivered file, and also fetches the files that the earlier run
 * could not fetch.
 *
 * @throws OptionError immediately, for invalid options.
 * @throws JobError from the flow, if the job is not delivered or has expired.
 * @throws IncompleteError from the flow, if files are missing or totals differ. `missing` lists the segments,
 *   and `cursor` is the cursor to resume from.
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
): Flow<FileBytes> {
  const given = checkAccountOptions('jobFiles', account, OPTIONS, options);
  const url = jobUrl(account, job);
  const shard = given.shard ?? account.settings.shard;
  const checked = { ...given, shard };
  return fileFlow(
    (run, decoder) => download(account, job, checked, run, decoder),
    [
      {
        step: 'jobFiles',
        job: uuidOf(job),
        ...shardMember(shard),
        ...account.serviceAt(url),
      },
    ],
  );
}

type Options = Checked<JobFilesOptions, typeof OPTIONS>;

async function* download(
  account: Account,
  job: JobName,
  options: Options,
  run: Run,
  decoder: Decoder | undefined,
): AsyncGenerator<SourceFile, void, undefined> {
  const { signal, progress, resume = options.resume } = run;
  const list = await readJobFiles(account.withProgress(progress), job, options.shard, signal);
  const cursors = downloadCursors(list);
  /** The files that were received and checked but have not been delivered yet. */
  const stored = new Set<StoredJobFile>();
  let state = cursors.stateAt(resume);
  let lastError: unknown;
  /** Returns the error to throw, or `undefined` if the download is complete. */
  const end = async (cause: unknown) => {
    const missing = [...state.missing, ...list.files.slice(state.next).map(({ name }) => name)];
    const verdict = jobVerdict(list.basis, { ...state, missing }, list.part);
    await answerOf(options.onVerdict?.(verdict), signal);
    const cursor = cursors.cursorAt(state);
    const lacksFiles = missing.length > 0;
    return incompleteJob(verdict, { totals: options.totals, lacksFiles, cause, cursor });
  };
  try {
    for await (const fetched of fetchFiles(list, state, options, run, decoder, stored)) {
      const { file } = fetched;
      if (file === list.files[state.next])
        state = { ...state, next: state.next + 1, missing: [...state.missing, file.name] };
      if ('error' in fetched) {
        lastError = fetched.error;
        continue;
      }
      const { made } = fetched;
      state = withFile(state, file, made);
      report(progress, file, state, list);
      stored.delete(made);
      const { origin, decoded } = made;
      try {
        yield { origin, cursor: cursors.cursorAt(state), decoded, blocks: made.blocks() };
      } finally {
        await made.release();
      }
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw (await end(cause)) ?? cause;
  } finally {
    for (const file of stored) {
      file.decoded?.release();
      await file.release();
    }
  }
  const error = await end(lastError);
  if (error !== undefined) throw error;
}

/**
 * Fetches the files from the index `next` on, and the files that were missing in an earlier run. Adds each
 * fetched file to `stored`.
 */
function fetchFiles(
  list: JobFileList,
  { next, missing }: DownloadState,
  { concurrency }: Options,
  { signal, progress }: Run,
  decoder: Decoder | undefined,
  stored: Set<StoredJobFile>,
) {
  const files = list.files.slice(next);
  const failed = list.files.filter(file => missing.includes(file.name));
  const count = files.length + failed.length;
  const { totalBytes = 0, listed } = list.basis;
  // Tells the decoder the number and size of the files now. The decoder then starts its threads while the
  // first files are being downloaded.
  decoder?.expect({ count, bytes: (totalBytes * count) / Math.max(1, listed) });
  const onBytes = (bytes: number) => {
    if (progress !== undefined) progress.receivedBytes += bytes;
  };
  const memory = {
    waiting: memoryBudget(MAX_WAITING_BYTES),
    inflated: memoryBudget(MAX_INFLATED_BYTES),
  };
  let lastTurn = Promise.resolve();
  const fetch = async (file: JobFile, limit: LimitFunction, signal: AbortSignal) => {
    const turn = turnAfter(lastTurn);
    lastTurn = turn.ended;
    const decode = decoder && decodeOnce(decoder, turn, signal);
    const made = await retryJobFile(file, list, signal, async request => {
      // `limit` covers only the download, so the next file is downloaded while this file is checked.
      const receive = () => request(response => receiveJobFile(response, memory, onBytes));
      const check = await limit(receive);
      return check(decode);
    }).finally(turn.end);
    stored.add(made);
    return made;
  };
  const ahead = decoder?.ahead ?? WAITING_FILES;
  return fetchJobFiles(files, failed, { signal, concurrency, ahead, fetch });
}

function report(
  progress: Run['progress'],
  { name }: JobFile,
  { files }: DownloadState,
  list: JobFileList,
): void {
  if (progress === undefined) return;
  progress.received++;
  const expected = list.shard === undefined ? list.basis.urlCount : 0;
  progress.fraction = files / Math.max(expected, list.files.length);
  const start = parseTimestamp(name);
  if (start !== undefined) progress.reached = start + SEGMENT;
}

/**
 * Returns a decoder that decodes one file, after all earlier files have been decoded. If the file is fetched
 * a second time, `decode` returns `undefined`, and the file is checked on the main thread. By that time, all
 * threads may hold later files that wait for this file. Waiting for a thread would then be a deadlock.
 */
function decodeOnce(decoder: Decoder, turn: Turn, signal: AbortSignal): DecodeOnce {
  let isDecoded = false;
  return {
    inThreads: decoder.inThreads,
    decode: async (file, origin) => {
      if (isDecoded) return undefined;
      isDecoded = true;
      await abortable(turn.begin, signal);
      const decoded = decoder.decode({ file, origin });
      turn.end();
      return abortable(decoded, signal);
    },
  };
}

function withFile(
  state: DownloadState,
  { name }: JobFile,
  { bytes, posts, suspectMinutes }: StoredJobFile,
): DownloadState {
  return {
    ...state,
    files: state.files + 1,
    bytes: state.bytes + bytes,
    posts: state.posts + posts,
    missing: state.missing.filter(one => one !== name),
    suspectMinutes:
      suspectMinutes.length === 0
        ? state.suspectMinutes
        : [...state.suspectMinutes, ...suspectMinutes],
  };
}

/**
 * The place of a file in the queue for decoding. Files are decoded in the order in which their downloads
 * started.
 */
interface Turn {
  /** Settles when all earlier turns have ended. */
  readonly begin: Promise<void>;
  /** Settles when this turn and all earlier turns have ended. */
  readonly ended: Promise<void>;
  end(): void;
}

function turnAfter(begin: Promise<void>): Turn {
  let end = () => {};
  const own = new Promise<void>(resolve => {
    end = resolve;
  });
  return { begin, ended: begin.then(() => own), end };
}

/**
 * The progress of a download. `next` is an index in the job's list of files. All files before it were
 * delivered, except the files in `missing`.
 */
export interface DownloadState extends Delivered {
  readonly next: number;
}

const START: DownloadState = {
  next: 0,
  files: 0,
  bytes: 0,
  posts: 0,
  suspectMinutes: [],
  missing: [],
};

export function downloadCursors({ basis: { job }, files, shard }: JobFileList) {
  let digest = shard === undefined ? '' : shardName(shard);
  /**
   * `digests[n]` is a digest of the names of the first n files. If a shard is downloaded, it also covers the
   * name of the shard.
   */
  const digests = [digest, ...files.map(file => (digest = nextDigest(digest, file)))];
  const refused = (problem: string) =>
    new OptionError('resume', `jobFiles: ${problem}. Remove the checkpoint to start again`);
  const named = `the job ${JSON.stringify(job.title)} (${job.uuid})`;
  return {
    cursorAt: (state: DownloadState): Cursor => ({
      source: 'job-files',
      job: job.uuid,
      seen: digests[state.next] ?? '',
      ...state,
    }),

    /** @throws OptionError if the cursor belongs to another job, or the list of files has changed */
    stateAt(resume: Cursor | undefined): DownloadState {
      if (resume === undefined) return START;
      const { source, job: uuid, seen, ...state } = resume;
      if (source !== 'job-files' || uuid !== job.uuid)
        throw refused(`the cursor does not belong to ${named}`);
      if (!isDownloadState(state) || seen === undefined || seen !== digests[state.next])
        throw refused(`${named} no longer lists the files that were read before`);
      return state;
    },
  };
}

const isDownloadState = shaped<DownloadState>({
  next: isCount,
  files: isCount,
  bytes: isCount,
  posts: isCount,
  suspectMinutes: isTexts,
  missing: isTexts,
});

function nextDigest(before: string, { name }: JobFile): string {
  return createHash('sha256').update(`${before}\n${name}`).digest('hex').slice(0, 16);
}
