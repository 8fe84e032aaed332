import { checkOptions, type OptionTable, signal as signalOption } from '../check.js';
import { ConnectionError, HttpError, JobError, MillraceError, OptionError } from '../errors.js';
import { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { readJson, readText } from '../http/read-json.js';
import { type AccountRequest, request } from '../http/request.js';
import { jobMessage } from '../http/response-error.js';
import { retry } from '../http/retry.js';
import {
  type CreatedJob,
  type Job,
  type JobCsvFile,
  type JobList,
  type JobListItem,
  type JobListing,
  type JobName,
  parseJob,
  parseJobList,
  parseJobListing,
  uuidOf,
} from './job.js';
import { parseJobCsv } from './job-csv.js';
import {
  type CheckedJobRequest,
  checkJobRequest,
  checkTitle,
  type JobRequest,
} from './job-request.js';
import { plainTitle } from './job-title.js';

export interface JobCallOptions {
  readonly signal?: AbortSignal | undefined;
}

const CALL_OPTIONS = { signal: signalOption() } satisfies OptionTable<JobCallOptions>;

/**
 * Makes a job (service.md 4.6.1), which is then estimated; nothing is paid before it is accepted.
 * Title, dates, format and every rule are checked before anything is sent, so a typo costs nothing.
 *
 * A try whose outcome is not known is not repeated before the title is looked up: the job that is
 * found there is the one that is returned.
 *
 * @throws OptionError with all that is wrong with the rules, or for another option.
 * @throws HttpError when the service refuses the job, a title that exists among the reasons.
 * @throws JobError when the title turns out to be that of another job.
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
  options: JobRequest,
  callOptions: JobCallOptions = {},
): Promise<CreatedJob> {
  const { signal } = checkOptions('jobs.create', CALL_OPTIONS, callOptions);
  const checked = checkJobRequest(options);
  const url = jobsUrl(account, 'jobs.json');
  const body = JSON.stringify({ publisher: account.need('publisher', 'jobs'), ...checked });
  const create = () =>
    request(account, { ...put('POST', url, body, signal), family: 'jobCreation' }, async answer => {
      const value = await readJson(answer);
      refuseError(value, checked.title);
      return parseJob(value, answer.url);
    });
  return sendOnce(account, create, () => findCreated(account, checked, { signal }), signal);
}

/**
 * The job as it stands now (service.md 4.6.2).
 *
 * @throws HttpError with status 404 for a job that is unknown or has expired.
 */
export function getJob(
  account: Account,
  job: JobName,
  callOptions: JobCallOptions = {},
): Promise<Job> {
  const { signal } = checkOptions('jobs.get', CALL_OPTIONS, callOptions);
  const uuid = uuidOf(job);
  return read(account, jobsUrl(account, `jobs/${uuid}.json`), signal, async answer =>
    withoutRules(parseJob(await readJson(answer), answer.url, uuid)),
  );
}

/**
 * Accepts the quote of a job, which then runs and is paid for (service.md 4.6.3). A try whose outcome
 * is not known is not repeated before the job's status is read.
 *
 * @throws HttpError when the job is not quoted.
 */
export function acceptJob(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<Job> {
  checkOptions('jobs.accept', CALL_OPTIONS, options);
  return decide(account, uuidOf(job), 'accept', options);
}

/**
 * Rejects the quote of a job: it can never be run (service.md 4.6.3).
 *
 * @throws HttpError when the job is not quoted.
 */
export function rejectJob(
  account: Account,
  job: JobName,
  options: JobCallOptions = {},
): Promise<Job> {
  checkOptions('jobs.reject', CALL_OPTIONS, options);
  return decide(account, uuidOf(job), 'reject', options);
}

/**
 * Where the files of a delivered job are (service.md 2.6). The addresses work for a while only; ask
 * again for fresh ones. `jobFiles` and `jobs.download` do all of this by themselves.
 *
 * @throws HttpError with status 404 for a job that is not delivered.
 * @throws DataError for an answer that is no such listing.
 */
export function jobResults(
  account: Account,
  job: JobName,
  callOptions: JobCallOptions = {},
): Promise<JobListing> {
  const { signal } = checkOptions('jobs.results', CALL_OPTIONS, callOptions);
  return read(account, jobsUrl(account, `jobs/${uuidOf(job)}/results.json`), signal, async answer =>
    parseJobListing(await readJson(answer), answer.url),
  );
}

/**
 * The same as a table: the name of each file and its address (service.md 2.6).
 *
 * @throws HttpError with status 404 for a job that is not delivered.
 * @throws DataError for an answer that is no such table.
 */
export function jobResultsCsv(
  account: Account,
  job: JobName,
  callOptions: JobCallOptions = {},
): Promise<JobCsvFile[]> {
  const { signal } = checkOptions('jobs.resultsCsv', CALL_OPTIONS, callOptions);
  return read(account, jobsUrl(account, `jobs/${uuidOf(job)}/results.csv`), signal, async answer =>
    parseJobCsv(await readText(answer), answer.url),
  );
}

/** All jobs of the account that have not expired, and what was delivered so far (service.md 4.6.6). */
export function listJobs(account: Account, callOptions: JobCallOptions = {}): Promise<JobList> {
  const { signal } = checkOptions('jobs.list', CALL_OPTIONS, callOptions);
  return read(account, jobsUrl(account, 'jobs.json'), signal, async answer =>
    parseJobList(await readJson(answer), answer.url),
  );
}

/**
 * The job with this title, if there is one that has not expired; otherwise one that `jobs.run` made for
 * this title.
 */
export async function findJob(
  account: Account,
  title: string,
  options: JobCallOptions = {},
): Promise<JobListItem | undefined> {
  checkOptions('jobs.find', CALL_OPTIONS, options);
  checkTitle(title);
  const { jobs } = await listJobs(account, options);
  return jobs.find(job => job.title === title) ?? jobs.find(job => plainTitle(job.title) === title);
}

/** @throws JobError when the job has the title of this request, but another window or format. */
export function checkSameJob(job: Job, asked: CheckedJobRequest): void {
  const { uuid, status, title, fromDate, toDate, dataFormat = asked.dataFormat } = job;
  const differs =
    fromDate !== asked.fromDate || toDate !== asked.toDate
      ? `from ${fromDate} to ${toDate}, not ${asked.fromDate} to ${asked.toDate}`
      : dataFormat !== asked.dataFormat
        ? `its format is ${dataFormat}, not ${asked.dataFormat}`
        : undefined;
  if (differs === undefined) return;
  throw new JobError(
    `There is another job with the title ${JSON.stringify(title)} (${uuid}): ${differs}. Choose another title`,
    { title, uuid, status },
  );
}

/** An address below the base of all job calls (service.md 4.6). */
export function jobsUrl(account: Account, path: string): URL {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  account.needAll(['historicalUrl', 'account', 'publisher', 'email', 'password'], 'jobs');
  const names = (['rulestream', 'account', 'publisher'] as const).map(name =>
    encodeURIComponent(account.need(name, 'jobs')),
  );
  const [rulestream = '', name = '', publisher = ''] = names;
  const url = new URL(account.need('historicalUrl', 'jobs'));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/historical/${rulestream}/accounts/${name}/publishers/${publisher}/${path}`;
  return url;
}

async function decide(
  account: Account,
  uuid: string,
  status: 'accept' | 'reject',
  { signal }: JobCallOptions,
): Promise<Job> {
  const url = jobsUrl(account, `jobs/${uuid}.json`);
  const call = put('PUT', url, JSON.stringify({ status }), signal);
  const send = () =>
    request(account, { ...call, family: 'jobReads' }, async answer =>
      withoutRules(parseJob(await readJson(answer), answer.url, uuid)),
    );
  const done = async () => {
    const job = await getJob(account, uuid, { signal });
    if (job.status === 'quoted') return undefined;
    if ((job.status === 'rejected') === (status === 'reject')) return job;
    throw new JobError(
      `The job ${JSON.stringify(job.title)} (${uuid}) cannot be ${status}ed: it is ${job.status}`,
      job,
    );
  };
  return sendOnce(account, send, done, signal);
}

/**
 * Sends what must not be done twice. Where it is not known whether it was done, `done` looks before
 * the next try, and before a refusal is believed: it may be our own deed that is in the way.
 */
function sendOnce<T>(
  account: Account,
  send: () => Promise<T>,
  done: () => Promise<T | undefined>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { retry: policy, timing, onRetry } = account;
  let unsure = false;
  const attempt = async () => {
    const found = unsure ? await done() : undefined;
    if (found !== undefined) return found;
    try {
      return await send();
    } catch (error) {
      const refused = error instanceof HttpError && error.status < 500;
      if (refused && unsure) {
        const late = await done();
        if (late !== undefined) return late;
      }
      unsure ||= isOutcomeUnknown(error);
      throw error;
    }
  };
  return retry(attempt, { policy, timing, signal, onRetry });
}

/** Whether a request may have been carried out although it failed. */
function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.failure !== 'refused';
  if (error instanceof HttpError) return error.status >= 500;
  return error instanceof MillraceError;
}

async function findCreated(
  account: Account,
  asked: CheckedJobRequest,
  options: JobCallOptions,
): Promise<CreatedJob | undefined> {
  const { jobs } = await listJobs(account, options);
  const found = jobs.find(job => job.title === asked.title);
  if (found === undefined) return undefined;
  const job = await getJob(account, found, options);
  checkSameJob(job, asked);
  return job;
}

function put(
  method: 'POST' | 'PUT',
  url: URL,
  body: string,
  signal: AbortSignal | undefined,
): Omit<AccountRequest, 'family'> {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { method, url, body, headers, signal, once: true };
}

function read<T>(
  account: Account,
  url: URL,
  signal: AbortSignal | undefined,
  parse: (answer: HttpResponse) => Promise<T>,
): Promise<T> {
  return request(account, { method: 'GET', url, family: 'jobReads', signal }, parse);
}

/** Invalid rules may come as a job of status `error` (4.6.1), whatever the status of the answer. */
function refuseError(value: unknown, title: string): void {
  if (typeof value !== 'object' || value === null || !('status' in value)) return;
  if (value.status !== 'error') return;
  throw new JobError(
    `The job ${JSON.stringify(title)} was not made: ${jobMessage(value) ?? 'no reason was given'}`,
    { title, status: 'error' },
  );
}

function withoutRules({ rules: _rules, ...job }: CreatedJob): Job {
  return job;
}
