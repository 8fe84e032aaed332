import { checkValue, milliseconds } from '../check.js';
import { HttpError, JobError, OptionError } from '../errors.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { SECOND } from '../time.js';
import type { CreatedJob, DeliveredJob, Job, JobListItem, JobQuote } from './job.js';
import { acceptJob, checkSameJob, createJob, getJob, listJobs, rejectJob } from './job-calls.js';
import {
  type CheckedJobRequest,
  checkJobRequest,
  JOB_REQUEST_NAMES,
  type JobRequest,
} from './job-request.js';
import { plainTitle, titleWithRules } from './job-title.js';

export interface RunJobOptions extends JobRequest {
  /**
   * Whether the job is worth its quote. It is asked once; `true` accepts the job, which is then paid
   * for and cannot be stopped, `false` rejects it for good.
   */
  readonly decide: (quote: JobQuote, job: Job) => boolean | Promise<boolean>;
  /**
   * The longest time between two looks at the job, in milliseconds; the first ones come sooner.
   * @default 30000
   */
  readonly pollIntervalMs?: number | undefined;
  /** Told when status, message or progress have changed, and of the job as it is found. */
  readonly onStatus?: ((job: Job) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const RUN_OPTIONS: readonly string[] = [
  ...JOB_REQUEST_NAMES,
  ...['decide', 'onStatus', 'signal', 'pollIntervalMs'],
];

const FIRST_LOOK = SECOND;
const LATER = 1.5;

/**
 * Brings a job from its rules to its files: makes it, waits for the quote, lets `decide` accept or
 * reject it, and waits until it is delivered (service.md section 3).
 *
 * The title is how a job is known: the same script run again joins its job where it stands, in whatever
 * state, and never makes or pays for a second one. A request with other rules, dates or format needs
 * another title, and is refused without. Since the service does not tell the rules of a job, a digest of
 * them stands behind the title that is sent, `snow 2014 (rules 3fa9c2d1)`; the order of rules does not
 * count. A job that has failed is not sent again, which would be charged again.
 *
 * @throws OptionError before anything is sent.
 * @throws JobError for a job that has failed, was rejected (also by `decide`), has expired, or has the
 * title but other rules, dates or another format, or was not made by `jobs.run`.
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
  checkNames('options', options, RUN_OPTIONS);
  const { decide, onStatus, signal, pollIntervalMs = 30 * SECOND } = options;
  if (typeof decide !== 'function')
    throw new OptionError('decide', 'Expected `decide` to be a function of the quote');
  const interval = milliseconds('how often the status is asked for');
  checkValue('runJob', 'pollIntervalMs', interval, pollIntervalMs);
  let job = await findOrCreate(account, options);
  let shown: Job | undefined;
  let wait = FIRST_LOOK;
  while (true) {
    if (shown === undefined || hasMoved(shown, job)) onStatus?.(job);
    if (shown?.status !== job.status) wait = Math.min(FIRST_LOOK, pollIntervalMs);
    shown = job;
    if (isDelivered(job)) return job;
    refuseEnded(job);
    if (job.status === 'quoted' && job.quote !== undefined) {
      job = await decideQuote(account, job, job.quote, options);
      continue;
    }
    await account.timing.sleep(wait, signal);
    wait = Math.min(wait * LATER, pollIntervalMs);
    job = await readJob(account, job, signal);
  }
}

export function isDelivered(job: Job): job is DeliveredJob {
  return job.status === 'delivered' && job.results !== undefined;
}

/** The job of this request, made if there is none. */
async function findOrCreate(account: Account, options: RunJobOptions): Promise<Job> {
  const { signal } = options;
  const checked = checkJobRequest(options);
  const asked = { ...checked, title: titleWithRules(checked) };
  const joined = await findExisting(account, asked, signal);
  if (joined !== undefined) return joined;
  try {
    return withoutRules(await createJob(account, { ...options, title: asked.title }, { signal }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Another run of the same script may have been faster.
    const late = await findExisting(account, asked, signal);
    if (late === undefined) throw error;
    return late;
  }
}

async function findExisting(
  account: Account,
  asked: CheckedJobRequest,
  signal: AbortSignal | undefined,
): Promise<Job | undefined> {
  const { jobs } = await listJobs(account, { signal });
  const found = jobs.find(job => job.title === asked.title);
  if (found === undefined) {
    const title = plainTitle(asked.title);
    const other = jobs.find(job => plainTitle(job.title) === title);
    if (other !== undefined) throw otherRules(other, title);
    return undefined;
  }
  const job = await readJob(account, found, signal);
  checkSameJob(job, asked);
  return job;
}

function otherRules({ uuid, status, title }: JobListItem, asked: string): JobError {
  const why =
    title === asked
      ? 'it was not made by `jobs.run`, so its rules are not known. Choose another title, or go on with that job by `jobs.get`, `jobs.accept` and `jobFiles`'
      : 'it has other rules. Choose another title';
  return new JobError(
    `There is another job with the title ${JSON.stringify(asked)} (${uuid}): ${why}`,
    {
      title,
      uuid,
      status,
    },
  );
}

/** An answer that is a no, and not one to the login. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof HttpError && error.status >= 400 && error.status < 500 && error.status !== 401
  );
}

function hasMoved(before: Job, now: Job): boolean {
  const { status, statusMessage, percentComplete } = before;
  return (
    status !== now.status ||
    statusMessage !== now.statusMessage ||
    percentComplete !== now.percentComplete
  );
}

async function decideQuote(
  account: Account,
  job: Job,
  quote: JobQuote,
  { decide, onStatus, signal }: RunJobOptions,
): Promise<Job> {
  const accepted: unknown = await decide(quote, job);
  signal?.throwIfAborted();
  if (accepted === true) return accept(account, job, signal);
  if (accepted !== false)
    throw new OptionError('decide', 'Expected `decide` to give true or false; nothing was done');
  const rejected = await rejectJob(account, job, { signal });
  onStatus?.(rejected);
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
    // Another run of the same script may have been faster, and the service may be slow to show it.
    for (let again = 0; again < 3; again++) {
      const now = await readJob(account, job, signal);
      if (now.status !== 'quoted') return now;
      await account.timing.sleep(FIRST_LOOK, signal);
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
      `The job ${JSON.stringify(job.title)} (${job.uuid}) is not there any more: it was ${job.status}, and has expired. Jobs are kept for 15 days; to begin anew, run this again`,
      { cause, title: job.title, uuid: job.uuid, status: job.status },
    );
  }
}

/** States that no job leaves. */
function refuseEnded(job: Job): void {
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
  const { title, uuid, status } = job;
  return new JobError(`The job ${JSON.stringify(title)} (${uuid}) ${what}. ${advice}`, {
    title,
    uuid,
    status,
  });
}

function described(quote: JobQuote): string {
  const { costDollars, estimatedActivityCount, estimatedDurationHours, estimatedFileSizeMb } =
    quote;
  const cost = costDollars === undefined ? 'no cost of its own' : `$${costDollars}`;
  return `${cost}, about ${estimatedActivityCount} posts, ${estimatedFileSizeMb} MB, ${estimatedDurationHours} hours`;
}

function withoutRules({ rules: _rules, ...job }: CreatedJob): Job {
  return job;
}
