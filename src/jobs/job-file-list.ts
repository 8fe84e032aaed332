import { DataError, HttpError, JobError } from '../base/errors.js';
import { hasFile, type Shard } from '../base/shard.js';
import { formatTimestamp, parseTimestamp } from '../base/time.js';
import type { Account } from '../http/account.js';
import { urlForMessages } from '../http/http-message.js';
import { readText } from '../http/read-json.js';
import { request } from '../http/request.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import { type DeliveredJob, isDelivered, type Job, type JobListing, type JobName } from './job.js';
import { getJob, jobResults } from './job-calls.js';
import type { VerdictBasis } from './job-verdict.js';

export interface JobFile {
  /**
   * The first minute of the segment (the ten minutes that the file covers), as `YYYYMMDDHHMM`. If the URLs of
   * the job do not contain segments, a name such as `file 17`.
   */
  readonly name: string;
  /**
   * The path relative to a folder, such as `20240101/0010.json.gz`. It is built from digits only, so that the
   * service cannot choose where a file is written.
   */
  readonly path: string;
}

/** The files of a delivered job, in chronological order. Their URLs can be renewed. */
export class JobFileList {
  readonly account: Account;
  readonly basis: VerdictBasis & { readonly job: DeliveredJob };
  /** The files of the job, or of the shard if one is given. */
  readonly files: readonly JobFile[];
  readonly shard: Shard | undefined;
  #urls: ReadonlyMap<string, URL>;
  #renewing: Promise<void> | undefined;

  constructor(
    account: Account,
    job: DeliveredJob,
    { urlList, urlCount, totalFileSizeBytes: totalBytes }: JobListing,
    suspectMinutes: readonly string[],
    shard: Shard | undefined,
  ) {
    this.account = account;
    this.#urls = urlsOf(urlList, job);
    this.basis = { job, urlCount, totalBytes, listed: this.#urls.size, suspectMinutes };
    this.files = [...this.#urls.keys()]
      .map(name => ({ name, path: pathOf(name) }))
      .filter(file => shard === undefined || hasFile(shard, file.path));
    this.shard = shard;
  }

  get part(): { readonly shard: Shard; readonly files: number } | undefined {
    return this.shard && { shard: this.shard, files: this.files.length };
  }

  addressOf({ name }: JobFile): URL {
    const url = this.#urls.get(name);
    if (url === undefined)
      throw new DataError(`The listing of the job no longer has the file ${name}`, {
        retryable: true,
      });
    return url;
  }

  /**
   * Reads the listing again, unless an earlier call has already replaced `url` with a newer URL. Callers at
   * the same time share one request.
   */
  async renew({ name }: JobFile, url: URL, signal: AbortSignal): Promise<void> {
    if (this.#urls.get(name) !== url) return;
    this.#renewing ??= this.#read(signal).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { job } = this.basis;
    const { urlList } = await readListing(this.account, job, signal);
    this.#urls = urlsOf(urlList, job, this.#urls);
  }
}

/**
 * Reads the list of a job's files. If the listing has fewer URLs than its `urlCount`, it is read again up to
 * twice.
 *
 * @throws JobError if the job is not delivered, or no longer exists.
 */
export async function readJobFiles(
  account: Account,
  name: JobName,
  shard: Shard | undefined,
  signal: AbortSignal,
): Promise<JobFileList> {
  const job = await deliveredJob(account, name, signal);
  let listing = await readListing(account, job, signal);
  for (let retries = 0; retries < 2 && listing.urlList.length < listing.urlCount; retries++) {
    await account.timing.sleep(account.retry.firstWaitMs, signal);
    listing = await readListing(account, job, signal);
  }
  const { suspectMinutesURL } = listing;
  const suspect =
    suspectMinutesURL === undefined
      ? []
      : await readSuspectMinutes(account, suspectMinutesURL, signal);
  return new JobFileList(account, job, listing, suspect, shard);
}

async function deliveredJob(
  account: Account,
  name: JobName,
  signal: AbortSignal,
): Promise<DeliveredJob> {
  const job = isDelivered(name) ? name : await orJobError(getJob(account, name, { signal }));
  if (isDelivered(job)) return job;
  throw new JobError(
    `The job ${JSON.stringify(job.title)} (${job.uuid}) has no files: only a delivered job has, and \`jobs.run\` waits for that. It is ${job.status}${job.statusMessage === '' ? '' : `: ${job.statusMessage}`}`,
    job,
  );
}

function readListing(account: Account, job: Job, signal: AbortSignal): Promise<JobListing> {
  return orJobError(jobResults(account, job, { signal }), job);
}

/**
 * Converts a 404 to a `JobError`. The service removes jobs and their results after 15 days, and then answers
 * 404.
 */
async function orJobError<T>(call: Promise<T>, job?: Job): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!(cause instanceof HttpError) || cause.status !== 404) throw cause;
    const which = job === undefined ? '' : ` ${JSON.stringify(job.title)} (${job.uuid})`;
    const until = job?.results?.expiresAt;
    throw new JobError(
      `The job${which} does not exist: it is unknown, or has expired${until === undefined ? '' : ` (its files were kept until ${until})`}`,
      { cause, title: job?.title, uuid: job?.uuid, status: undefined },
    );
  }
}

/**
 * Maps the name of each file to its URL. The name is the time in the path of the URL, such as `202401312350`,
 * and the files are in chronological order. If the path of any URL contains no such time, the files are
 * numbered in the order of their URLs. If `before`, an earlier listing, is given, numbered files keep their
 * names from it, and files that it does not contain are omitted.
 */
function urlsOf(
  urlList: readonly string[],
  job: Job,
  before: ReadonlyMap<string, URL> = new Map(),
): Map<string, URL> {
  const origin = `the listing of the job ${job.uuid}`;
  const urls = urlList.map(text => new URL(text));
  const hasSegments = urls.every(url => segmentOf(url) !== undefined);
  const listed = new Map<string, URL>();
  for (const url of urls) {
    const key = (hasSegments ? segmentOf(url) : undefined) ?? keyOf(url);
    const which = hasSegments ? `segment ${key}` : `file at ${url.pathname}`;
    if (listed.has(key))
      throw new DataError(`The ${which} is listed twice`, { position: { origin } });
    listed.set(key, url);
  }
  const sorted = [...listed].sort(([a], [b]) => (a < b ? -1 : 1));
  if (hasSegments) return new Map(sorted);
  const names = new Map([...before].map(([name, url]) => [keyOf(url), name]));
  const named = sorted.map(([key, url], index) => {
    const name = before.size === 0 ? `file ${index + 1}` : names.get(key);
    return [name, url] as const;
  });
  return new Map(named.filter((entry): entry is [string, URL] => entry[0] !== undefined));
}

/**
 * Matches the query parameters that belong to a signature. Two URLs of the same file may differ in these
 * parameters.
 */
const SIGNATURE =
  /^(?:x-(?:amz|goog)-.*|(?:aws|google)?accesskeyid|googleaccessid|expires|signature|policy|key-pair-id)$/i;

/**
 * Returns the part of a file's URL that is the same in every listing. The host and the signature may change.
 */
function keyOf({ pathname, searchParams }: URL): string {
  const own = [...searchParams].filter(([name]) => !SIGNATURE.test(name));
  return own.length === 0 ? pathname : `${pathname}?${new URLSearchParams(own)}`;
}

/** Matches paths such as `.../2024/01/31/23/50_activities.json.gz`. */
const SEGMENT_PATH = /(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})\/([0-5]0)_activities\.json\.gz$/;

function segmentOf(url: URL): string | undefined {
  const segment = SEGMENT_PATH.exec(url.pathname)?.slice(1).join('');
  return segment !== undefined && parseTimestamp(segment) !== undefined ? segment : undefined;
}

/**
 * Returns the path for a name. Only the digits of the name are used, so that the service cannot choose a
 * path.
 */
function pathOf(name: string): string {
  const [, day, minute] = /^(\d{8})(\d{4})$/.exec(name) ?? [];
  if (day !== undefined) return `${day}/${minute}.json.gz`;
  return `files/${name.replace(/\D/g, '').padStart(6, '0')}.json.gz`;
}

/**
 * Reads which minutes of a job may be incomplete, as `YYYYMMDDHHMM`. The service does not document the format
 * of this list. Therefore, this accepts any JSON that contains dates, and also lines of dates.
 */
export async function readSuspectMinutes(
  account: Account,
  address: string,
  signal?: AbortSignal,
): Promise<string[]> {
  if (!URL.canParse(address))
    throw new DataError(
      `The address of the suspect minutes is not a URL: ${JSON.stringify(address)}`,
    );
  const url = new URL(address);
  try {
    const text = await request(
      account,
      { method: 'GET', url, family: 'jobReads', signal },
      readText,
    );
    const words = stringsIn(parsed(text));
    const minutes = words.map(minuteOf).filter(minute => minute !== undefined);
    if (words.length > 0 && minutes.length === 0)
      throw new DataError(`The list of suspect minutes has no dates: ${excerpt(text)}`, {
        position: { origin: urlForMessages(url) },
      });
    return [...new Set(minutes)].sort();
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return [];
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text.split(/[\s,]+/).filter(word => word !== '');
  }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function minuteOf(text: string): string | undefined {
  if (parseTimestamp(text) !== undefined) return text;
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : formatTimestamp(ms);
}
