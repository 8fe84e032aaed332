import {
  checkOptions,
  checkValue,
  type OptionTable,
  signal as signalOption,
} from '../base/check.js';
import { ConnectionError, HttpError, JobError, MillraceError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { SECOND } from '../base/time.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { readJson, readText } from '../http/read-json.js';
import { request } from '../http/request.js';
import { jobMessage } from '../http/response-error.js';
import { retry } from '../http/retry.js';
import { serviceUrl } from '../http/service-url.js';
import {
  type CreatedJob,
  type Job,
  type JobCsvFile,
  type JobList,
  type JobListItem,
  type JobListing,
  type JobName,
  uuidOf,
} from './job.js';
import {
  type CheckedJobRequest,
  checkJobRequest,
  JOB_TITLE,
  type JobRequest,
  plainTitle,
} from './job-request.js';
import {
  parseCreatedJob,
  parseJob,
  parseJobCsv,
  parseJobList,
  parseJobListing,
} from './parse-job.js';

/** The maximum size of a listing in bytes. The listing of a ten-year job fits: it has half a million URLs. */
const MAX_LISTING_BYTES = 256 * 1024 * 1024;

/** Options of the calls in the namespace `jobs`. */
export interface JobCallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** By how much the account's estimate of the service's clock may be wrong, in milliseconds. */
const CLOCK_TOLERANCE_MS = 5 * SECOND;

/** The settings of a request that must not be sent twice, because it creates or changes a job. */
const ONCE = { headers: { 'content-type': 'application/json; charset=utf-8' }, once: true };

const CALL_OPTIONS = { signal: signalOption() } satisfies OptionTable<JobCallOptions>;

/**
 * Creates a job. The service then estimates its cost. Nothing is charged until the job is accepted. The
 * title, the dates, the format and all rules are checked before anything is sent, so a typo costs nothing.
 *
 * If the outcome of a try is unknown, the title is looked up before the next try. If a job with this title
 * was requested after this call began, that job is returned. If a job with this title is older, the call
 * throws a `JobError`. The older job may have other rules, and the service does not return the rules of a
 * job.
 *
 * @throws OptionError with all problems in the request, or in its rules.
 * @throws HttpError if the service refuses the job, for example because its title is already in use.
 * @throws JobError if the title belongs to another job.
 * @example
 * const job = await jobs.create(account(), {
 *   title: 'snow 2014',
 *   fromDate: '201401010000',
 *   toDate: '201402010000',
 *   dataFormat: 'original',
 *   rules: [{ value: 'snow lang:en', tag: 'snow' }],
 * });
 */
export async function createJob(
  account: Account,
  jobRequest: JobRequest,
  options: JobCallOptions = {},
): Promise<CreatedJob> {
  const { signal } = checkOptions('jobs.create', CALL_OPTIONS, options);
  const checked = checkJobRequest('jobs.create', jobRequest);
  const url = jobsUrl(account, 'jobs.json');
  const body = JSON.stringify({ publisher: account.need('publisher', 'jobs'), ...checked });
  const call = { method: 'POST', url, body, signal, family: 'jobCreation', ...ONCE } as const;
  const create = () =>
    request(account, call, async response => {
      const value = await readJson(response);
      throwIfError(value, checked.title);
      return parseCreatedJob(value, response.url);
    });
  const startedAt = account.timing.elapsed();
  return sendOnce(
    account,
    create,
    () => findCreated(account, checked, account.timing.elapsed() - startedAt, { signal }),
    signal,
  );
}

/**
 * Returns the current state of a job.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @throws HttpError with status 404 if the job is unknown or has expired.
 * @example
 * const { status } = await jobs.get(account(), uuid);
 */
export function getJob(account: Account, job: JobName, options: JobCallOptions = {}): Promise<Job> {
  const { signal } = checkOptions('jobs.get', CALL_OPTIONS, options);
  const uuid = uuidOf(job);
  return read(account, jobUrl(account, uuid), signal, async response =>
    parseJob(await readJson(response), response.url, uuid),
  );
}

/**
 * Accepts the quote of a job. The job then runs and is charged. If the outcome of a try is unknown, the
 * status of the job is read before the next try.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @throws HttpError if the job is not quoted.
 * @example
 * await jobs.accept(account(), uuid);
 */
export function acceptJob(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<Job> {
  return decide(account, job, 'accept', options);
}

/**
 * Rejects the quote of a job. The job can then never run.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @throws HttpError if the job is not quoted.
 * @example
 * await jobs.reject(account(), uuid);
 */
export function rejectJob(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<Job> {
  return decide(account, job, 'reject', options);
}

/**
 * Returns the URLs of the files of a delivered job. The URLs expire after a while. To get new URLs, call this
 * again, as `jobFiles` and `jobs.download` do automatically.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @throws HttpError with status 404 if the job is not delivered.
 * @throws DataError if the response is not a listing of files.
 * @example
 * const { urlList } = await jobs.results(account(), job);
 */
export function jobResults(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<JobListing> {
  const { signal } = checkOptions('jobs.results', CALL_OPTIONS, options);
  return read(account, jobUrl(account, job, '/results.json'), signal, async response =>
    parseJobListing(
      await readJson(response, MAX_LISTING_BYTES),
      response.url,
      account.settings.insecureOrigins,
    ),
  );
}

/**
 * Returns the name and the URL of each file of a delivered job, as the service's CSV table lists them.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @throws HttpError with status 404 if the job is not delivered.
 * @throws DataError if the response is not a table of files.
 * @example
 * for (const { name, url } of await jobs.resultsCsv(account(), job)) await fetchInto(name, url);
 */
export function jobResultsCsv(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<JobCsvFile[]> {
  const { signal } = checkOptions('jobs.resultsCsv', CALL_OPTIONS, options);
  return read(account, jobUrl(account, job, '/results.csv'), signal, async response =>
    parseJobCsv(
      await readText(response, MAX_LISTING_BYTES),
      response.url,
      account.settings.insecureOrigins,
    ),
  );
}

/**
 * Returns all jobs of the account that have not expired, with the totals of delivered jobs.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @example
 * for (const { title, status } of (await jobs.list(account())).jobs) console.log(title, status);
 */
export function listJobs(account: Account, options: JobCallOptions = {}): Promise<JobList> {
  const { signal } = checkOptions('jobs.list', CALL_OPTIONS, options);
  return read(account, jobsUrl(account, 'jobs.json'), signal, async response =>
    parseJobList(await readJson(response), response.url),
  );
}

/**
 * Returns the job with this title. A job that `jobs.run` has created for the title is also found, although
 * `jobs.run` appends a digest of the rules to the title. Returns `undefined` if no job has the title, or if
 * the job has expired.
 *
 * @throws OptionError For invalid arguments or missing settings of the account.
 * @example
 * const job = await jobs.find(account(), 'snow 2014');
 */
export async function findJob(
  account: Account,
  title: string,
  options: JobCallOptions = {},
): Promise<JobListItem | undefined> {
  checkOptions('jobs.find', CALL_OPTIONS, options);
  checkValue('jobs.find', 'title', JOB_TITLE, title);
  const { jobs } = await listJobs(account, options);
  return jobs.find(job => job.title === title) ?? jobs.find(job => plainTitle(job.title) === title);
}

/** @throws JobError if an existing job with the requested title has a different window or format */
export function checkSameJob(job: Job, requested: CheckedJobRequest): void {
  const { fromDate, toDate, dataFormat = requested.dataFormat } = job;
  const differs =
    fromDate !== requested.fromDate || toDate !== requested.toDate
      ? `from ${fromDate} to ${toDate}, not ${requested.fromDate} to ${requested.toDate}`
      : dataFormat !== requested.dataFormat
        ? `its format is ${dataFormat}, not ${requested.dataFormat}`
        : undefined;
  if (differs === undefined) return;
  throw anotherJob(job, `: ${differs}. Choose another title`);
}

/** @param rest how the job differs, and what to do */
export function anotherJob(job: Job | JobListItem, rest: string, title = job.title): JobError {
  return new JobError(
    `There is another job with the title ${JSON.stringify(title)} (${job.uuid})${rest}`,
    job,
  );
}

export function jobUrl(account: Account, job: JobName, rest = '.json'): URL {
  return jobsUrl(account, `jobs/${uuidOf(job)}${rest}`);
}

function jobsUrl(account: Account, path: string): URL {
  const base = 'historical/{rulestream}/accounts/{account}/publishers/{publisher}';
  return serviceUrl(account, 'historicalUrl', `${base}/${path}`, { purpose: 'jobs' });
}

function read<T>(
  account: Account,
  url: URL,
  signal: AbortSignal | undefined,
  parse: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  return request(account, { method: 'GET', url, family: 'jobReads', signal }, parse);
}

function decide(
  account: Account,
  name: JobName,
  status: 'accept' | 'reject',
  options: JobCallOptions,
): Promise<Job> {
  const { signal } = checkOptions(`jobs.${status}`, CALL_OPTIONS, options);
  const uuid = uuidOf(name);
  const url = jobUrl(account, uuid);
  const body = JSON.stringify({ status });
  const call = { method: 'PUT', url, body, signal, family: 'jobReads', ...ONCE } as const;
  const send = () =>
    request(account, call, async response =>
      parseJob(await readJson(response), response.url, uuid),
    );
  const findResult = async () => {
    const job = await getJob(account, uuid, { signal });
    if (job.status === 'quoted') return undefined;
    if ((job.status === 'rejected') === (status === 'reject')) return job;
    throw new JobError(
      `The job ${JSON.stringify(job.title)} (${uuid}) cannot be ${status}ed: it is ${job.status}`,
      job,
    );
  };
  return sendOnce(account, send, findResult, signal);
}

/** @param ageMs how long ago the current call started, in milliseconds */
async function findCreated(
  account: Account,
  requested: CheckedJobRequest,
  ageMs: number,
  options: JobCallOptions,
): Promise<CreatedJob | undefined> {
  const { jobs } = await listJobs(account, options);
  const found = jobs.find(job => job.title === requested.title);
  if (found === undefined) return undefined;
  const job = await getJob(account, found, options);
  checkSameJob(job, requested);
  const { requestedAt = 'an unknown time' } = job;
  if (Date.parse(requestedAt) >= account.clock.now() - ageMs - CLOCK_TOLERANCE_MS) return job;
  throw anotherJob(
    job,
    `, requested at ${requestedAt}, before this call: its rules are not known. Choose another title, or continue with that job by \`jobs.get\``,
  );
}

/**
 * Throws if the response reports invalid rules. The service may report them as a job with the status `error`,
 * under any HTTP status.
 */
function throwIfError(value: unknown, title: string): void {
  if (!isRecord(value) || value.status !== 'error') return;
  throw new JobError(
    `The job ${JSON.stringify(title)} was not created: ${jobMessage(value) ?? 'no reason was given'}`,
    { title, status: 'error' },
  );
}

/**
 * Sends a request that must take effect only once, with the account's retries. If it is unknown whether a try
 * took effect, `findResult` looks for the result before the next try. If a later try is refused, `findResult`
 * looks once more, because the refusal may mean that an earlier try succeeded.
 */
function sendOnce<T>(
  account: Account,
  send: () => Promise<T>,
  findResult: () => Promise<T | undefined>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let outcomeUnknown = false;
  const attempt = async () => {
    const found = outcomeUnknown ? await findResult() : undefined;
    if (found !== undefined) return found;
    try {
      return await send();
    } catch (error) {
      const refused = error instanceof HttpError && error.status < 500;
      if (refused && outcomeUnknown) {
        const late = await findResult();
        if (late !== undefined) return late;
      }
      outcomeUnknown ||= isOutcomeUnknown(error);
      throw error;
    }
  };
  return retry(account, attempt, signal);
}

function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  if (error instanceof HttpError) return error.status >= 500;
  return error instanceof MillraceError;
}
