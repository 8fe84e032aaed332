import { answerOf } from '../base/abortable.js';
import {
  checkOptions,
  func,
  milliseconds,
  type OptionTable,
  required,
  signal,
} from '../base/check.js';
import { HttpError, JobError, OptionError } from '../base/errors.js';
import { SECOND } from '../base/time.js';
import type { Account } from '../http/account.js';
import { type DeliveredJob, isDelivered, type Job, type JobQuote } from './job.js';
import {
  acceptJob,
  anotherJob,
  checkSameJob,
  createJob,
  getJob,
  listJobs,
  rejectJob,
} from './job-calls.js';
import {
  type CheckedJobRequest,
  checkJobRequest,
  JOB_REQUEST,
  type JobRequest,
  plainTitle,
  titleWithRules,
} from './job-request.js';

/**
 * Options of `jobs.run`: the job, a function that accepts or rejects its quote, and how its progress is
 * reported.
 */
export interface RunJobOptions extends JobRequest {
  /**
   * Decides about the quote. Called once. If it returns `true`, the job is accepted: it is then charged and
   * cannot be stopped. If it returns `false`, the job is rejected permanently.
   */
  readonly decide: (quote: JobQuote, job: Job) => boolean | Promise<boolean>;
  /**
   * The longest time between two requests for the status of the job, in milliseconds. The first requests are
   * sent at shorter intervals.
   * @default 30000
   */
  readonly pollIntervalMs?: number | undefined;
  /**
   * Called with the job at the start, and whenever its status, message or progress has changed. If it returns
   * a promise, the call waits for it. If it throws or the promise rejects, the call ends with that error.
   */
  readonly onStatus?: ((job: Job) => unknown) | undefined;
  /** Ends the call, which then rejects with the signal's reason. The job itself continues. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = {
  ...JOB_REQUEST,
  decide: required(func('decides about the quote')),
  pollIntervalMs: milliseconds('between two requests for the status', { default: 30 * SECOND }),
  onStatus: func('called when the status has changed'),
  signal: signal(),
} satisfies OptionTable<RunJobOptions>;

/** The members of a job whose changes are reported to `onStatus`. */
const REPORTED = ['status', 'statusMessage', 'percentComplete'] as const;
const FIRST_POLL_MS = SECOND;
const POLL_GROWTH = 1.5;

/**
 * Runs a job until its files can be downloaded: creates it, waits for the quote, lets `decide` accept or
 * reject it, and waits until it is delivered.
 *
 * The title identifies the job. If the same script runs again, it continues with the existing job, whatever
 * its status, and never creates or pays for a second job. A job that has failed is not created again either,
 * because it would be charged again.
 *
 * If the rules, the dates or the format change, pass a different title. The service does not return the rules
 * of a job. To detect changed rules, `jobs.run` therefore appends a digest of the rules to the title, as in
 * `snow 2014 (rules 3fa9c2d1)`. The order of the rules does not matter.
 *
 * @throws OptionError before anything is sent, if an option is invalid.
 * @throws JobError if the job has failed, was rejected (by `decide` or earlier) or has expired. Also thrown
 *   if a job with the same title was not created by `jobs.run`, or has different rules, dates or format.
 * @example
 * const job = await jobs.run(account(), {
 *   title: 'snow 2014',
 *   fromDate: '201401010000',
 *   toDate: '201402010000',
 *   dataFormat: 'original',
 *   rules: [{ value: 'snow lang:en', tag: 'snow' }],
 *   decide: quote => (quote.costDollars ?? 0) <= 500 && quote.estimatedDurationHours < 24,
 * });
 */
export async function runJob(account: Account, options: RunJobOptions): Promise<DeliveredJob> {
  const { onStatus, signal, pollIntervalMs, ...rest } = checkOptions('jobs.run', OPTIONS, options);
  const { title, fromDate, toDate, dataFormat, rules } = rest;
  const request = { title, fromDate, toDate, dataFormat, rules };
  let job = await findOrCreate(account, request, signal);
  let before: Job | undefined;
  let waitMs = FIRST_POLL_MS;
  while (true) {
    if (REPORTED.some(name => before?.[name] !== job[name]))
      await answerOf(onStatus?.(job), signal);
    if (before?.status !== job.status) waitMs = Math.min(FIRST_POLL_MS, pollIntervalMs);
    before = job;
    if (isDelivered(job)) return job;
    throwIfEnded(job);
    if (job.status === 'quoted' && job.quote !== undefined) {
      job = await decideQuote(account, job, job.quote, options);
      continue;
    }
    await account.timing.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * POLL_GROWTH, pollIntervalMs);
    job = await readJob(account, job, signal);
  }
}

async function findOrCreate(
  account: Account,
  request: JobRequest,
  signal: AbortSignal | undefined,
): Promise<Job> {
  const checked = checkJobRequest('jobs.run', request);
  const requested = { ...checked, title: titleWithRules(checked) };
  const found = await findExisting(account, requested, signal);
  if (found !== undefined) return found;
  try {
    const created = await createJob(account, { ...request, title: requested.title }, { signal });
    const { rules: _, ...job } = created;
    return job;
  } catch (error) {
    if (!isRefusal(error) && !(error instanceof JobError)) throw error;
    // Another run of the same script may have created the job since `findExisting` was called. Its title
    // contains a digest of its rules, so a job with the same title has the same rules.
    const late = await findExisting(account, requested, signal);
    if (late === undefined) throw error;
    return late;
  }
}

async function findExisting(
  account: Account,
  requested: CheckedJobRequest,
  signal: AbortSignal | undefined,
): Promise<Job | undefined> {
  const { jobs } = await listJobs(account, { signal });
  const found = jobs.find(job => job.title === requested.title);
  if (found === undefined) {
    const title = plainTitle(requested.title);
    const other = jobs.find(job => plainTitle(job.title) === title);
    if (other === undefined) return undefined;
    const why =
      other.title === title
        ? 'it was not created by `jobs.run`, so its rules are not known. Choose another title, or continue with that job by `jobs.get`, `jobs.accept` and `jobFiles`'
        : 'it has other rules. Choose another title';
    throw anotherJob(other, `: ${why}`, title);
  }
  const job = await readJob(account, found, signal);
  checkSameJob(job, requested);
  return job;
}

/** Whether the service refused the request itself. A 401 refuses the credentials instead. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof HttpError && error.status >= 400 && error.status < 500 && error.status !== 401
  );
}

async function decideQuote(
  account: Account,
  job: Job,
  quote: JobQuote,
  { decide, onStatus, signal }: RunJobOptions,
): Promise<Job> {
  const accepted: unknown = await answerOf(decide(quote, job), signal);
  signal?.throwIfAborted();
  if (accepted === true) return accept(account, job, signal);
  if (accepted !== false)
    throw new OptionError(
      'decide',
      'jobs.run: `decide` must return true or false; the job was neither accepted nor rejected',
    );
  const rejected = await rejectJob(account, job, { signal });
  await answerOf(onStatus?.(rejected), signal);
  throw ended(
    rejected,
    `was rejected, since \`decide\` turned its quote down: ${described(quote)}`,
    'To ask again, choose another title',
  );
}

async function accept(account: Account, job: Job, signal: AbortSignal | undefined): Promise<Job> {
  try {
    return await acceptJob(account, job, { signal });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Another run of the same script may have accepted the job. The service may show the new status only
    // after some time.
    for (let poll = 0; poll < 3; poll++) {
      const now = await readJob(account, job, signal);
      if (now.status !== 'quoted') return now;
      await account.timing.sleep(FIRST_POLL_MS, signal);
    }
    throw error;
  }
}

async function readJob(
  account: Account,
  job: Pick<Job, 'uuid' | 'title' | 'status'>,
  signal: AbortSignal | undefined,
): Promise<Job> {
  try {
    return await getJob(account, job, { signal });
  } catch (cause) {
    if (!(cause instanceof HttpError) || cause.status !== 404) throw cause;
    throw new JobError(
      `The job ${JSON.stringify(job.title)} (${job.uuid}) no longer exists: it was ${job.status}, and has expired. Jobs are kept for 15 days; run this again to create it again`,
      { ...job, cause },
    );
  }
}

function throwIfEnded(job: Job): void {
  if (job.status === 'failed')
    throw ended(
      job,
      `has failed: ${job.statusMessage}`,
      'The operator of the service looks into it. Do not send it again under another title: that would be charged again',
    );
  if (job.status === 'rejected')
    throw ended(job, 'was rejected and cannot be recovered', 'To ask again, choose another title');
}

function ended(job: Job, what: string, advice: string): JobError {
  return new JobError(`The job ${JSON.stringify(job.title)} (${job.uuid}) ${what}. ${advice}`, job);
}

function described(quote: JobQuote): string {
  const { costDollars, estimatedActivityCount, estimatedDurationHours, estimatedFileSizeMb } =
    quote;
  const cost = costDollars === undefined ? 'no extra cost' : `$${costDollars}`;
  return `${cost}, about ${estimatedActivityCount} posts, ${estimatedFileSizeMb} MB, ${estimatedDurationHours} hours`;
}
