import { formatTimestamp, SECOND } from '../../time.js';
import type { CreateRequest } from './create-request.js';
import type { Job, JobStage, JobStatus } from './job.js';
import { jobDays } from './job-days.js';
import { printRuleOutcomes, type RuleOutcome } from './job-rules.js';
import type { JobRunner } from './job-runner.js';
import { megabytes } from './quote.js';

/** Whose jobs these are and where; what jobs do not keep themselves. */
export interface JobAddress {
  readonly account: string;
  readonly publisher: string;
  /** The address of all jobs, without `/jobs.json`. */
  readonly base: string;
}

/** A job as every call but the list shows it (service.md 2.5). */
export function jobView(runner: JobRunner, place: JobAddress, activityCountOff = 0): object {
  const { job, files, percentComplete } = runner;
  const { status, quote, acceptedBy, acceptedAt, completedAt = 0 } = job;
  const activityCount = files.reduce((sum, file) => sum + file.posts, 0);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    ...requestView(job, place),
    requestedBy: job.requestedBy,
    requestedAt: formatInstant(job.requestedAt),
    status,
    statusMessage: statusMessage(runner),
    jobURL: jobUrl(job, place),
    ...(quote && { quote: { ...quote, expiresAt: formatInstant(quote.expiresAt) } }),
    ...(acceptedAt !== undefined && { acceptedBy, acceptedAt: formatInstant(acceptedAt) }),
    ...(HAS_PROGRESS.has(status) && { percentComplete }),
    ...(status === 'delivered' && {
      results: {
        completedAt: formatInstant(completedAt),
        activityCount: activityCount + activityCountOff,
        fileCount: files.length,
        fileSizeMb: megabytes(bytes),
        dataURL: jobUrl(job, place, '/results.json'),
        expiresAt: formatInstant(runner.expiresAt),
      },
    }),
  };
}

/** The answer to a create: the job and its rules. */
export function createdView(
  runner: JobRunner,
  outcomes: readonly RuleOutcome[],
  place: JobAddress,
): string {
  return withRules(jobView(runner, place), outcomes, runner.job.requestedAt);
}

/** What is said of a job that was not made since its rules are wrong (service.md 4.6). */
export function invalidView(
  request: CreateRequest,
  outcomes: readonly RuleOutcome[],
  place: JobAddress,
  now: number,
): string {
  const { title, format, window } = request;
  const view = {
    ...requestView({ title, format, ...window }, place),
    status: 'error',
    statusMessage: INVALID_RULES,
    reason: INVALID_RULES,
  };
  return withRules(view, outcomes, now);
}

const INVALID_RULES = 'Invalid Rules, see details.';

/** The list (service.md 2.5, 4.6). */
export function jobListView(runners: readonly JobRunner[], place: JobAddress): object {
  const delivered = runners.filter(({ job }) => job.status === 'delivered');
  const sum = (numberOf: (runner: JobRunner) => number) =>
    delivered.reduce((total, runner) => total + numberOf(runner), 0);
  return {
    jobs: runners.map(runner => ({
      title: runner.job.title,
      jobURL: jobUrl(runner.job, place),
      status: runner.job.status,
      publisher: place.publisher,
      streamType: 'track_v2',
      fromDate: formatTimestamp(runner.job.from),
      toDate: formatTimestamp(runner.job.to),
      percentComplete: runner.percentComplete,
      ...(Number.isFinite(runner.expiresAt) && { expiresAt: formatInstant(runner.expiresAt) }),
    })),
    delivered: {
      jobCount: delivered.length,
      jobDaysRun: sum(({ job }) => jobDays(job)),
      activityCount: sum(({ files }) => files.reduce((posts, file) => posts + file.posts, 0)),
    },
  };
}

export function jobUrl({ uuid }: Job, { base }: JobAddress, rest = '.json'): string {
  return `${base}/jobs/${uuid}${rest}`;
}

/** `2024-05-15T12:34:56Z` */
export function formatInstant(ms: number): string {
  return new Date(Math.floor(ms / SECOND) * SECOND).toISOString().replace('.000Z', 'Z');
}

const HAS_PROGRESS: ReadonlySet<JobStatus> = new Set([
  'estimating',
  'quoted',
  'running',
  'completed',
  'delivered',
]);

function requestView(
  { title, format, from, to }: Pick<Job, 'title' | 'format' | 'from' | 'to'>,
  { account, publisher }: JobAddress,
) {
  const dates = { fromDate: formatTimestamp(from), toDate: formatTimestamp(to) };
  return { title, account, publisher, streamType: 'track_v2', format, ...dates };
}

function withRules(view: object, outcomes: readonly RuleOutcome[], now: number): string {
  return `${JSON.stringify(view).slice(0, -1)},"rules":${printRuleOutcomes(outcomes, now)}}`;
}

const MESSAGES: Record<Exclude<JobStatus, 'opened' | 'estimating' | 'failed'>, string> = {
  quoted: 'Job quoted and awaiting customer acceptance.',
  accepted: 'Job accepted and ready to be queued.',
  rejected: 'Job quote rejected by customer.',
  running: 'Job is being processed.',
  completed: 'Job completed and awaiting validation.',
  delivered: 'Job delivered and available for download',
};

const FAILURES: Record<JobStage, string> = {
  estimating: 'Auto-estimate job has failed. Gnip investigating',
  running: 'Failure running job. Gnip investigating',
  validation: 'Job completed but failed validation. Gnip investigating.',
};

/** What the job says of itself, as the service words it (service.md 2.5). */
export function statusMessage({ job, queued, percentComplete }: JobRunner): string {
  switch (job.status) {
    case 'opened':
      return queued ? 'Request to auto-estimate queued.' : 'Waiting on quote from Gnip.';
    case 'estimating':
      if (percentComplete < 10) return 'Generating a job quote.';
      if (percentComplete < 90) return 'Auto-estimate job is running.';
      return 'Auto-estimate job has run, time to do some math.';
    case 'failed':
      return FAILURES[job.failure ?? 'running'];
    default:
      return MESSAGES[job.status];
  }
}
