import { formatTimestamp, SECOND } from '../../base/time.js';
import type { WrongTotalsFault } from '../http/fault-types.js';
import { outcomesText, type RuleOutcome } from '../http/rule-bodies.js';
import type { CreateRequest } from './create-request.js';
import { type DataUrls, dataPath, localName } from './data-files.js';
import { megabytes } from './estimate.js';
import {
  type DataFile,
  type JobPhase,
  type JobRecord,
  type JobState,
  jobDays,
} from './job-record.js';
import type { JobRunner } from './job-runner.js';

export interface JobAddress {
  readonly account: string;
  readonly publisher: string;
  /** The URL of all jobs, without `/jobs.json`. */
  readonly base: string;
}

export interface FileAddress extends JobAddress {
  readonly filesUrl: string;
  readonly urls: DataUrls;
  readonly expiresAt: number;
}

/** Returns the JSON of a job, for every response except the list of jobs. */
export function jobView(runner: JobRunner, address: JobAddress, activityCountOff = 0): object {
  const { job, files, percentComplete } = runner;
  const { status, quote, acceptedBy, acceptedAt, completedAt = 0 } = job;
  return {
    ...requestView(job, address),
    requestedBy: job.requestedBy,
    requestedAt: formatInstant(job.requestedAt),
    status,
    statusMessage: statusMessage(runner),
    jobURL: jobUrl(job, address),
    ...(quote && { quote: { ...quote, expiresAt: formatInstant(quote.expiresAt) } }),
    ...(acceptedAt !== undefined && { acceptedBy, acceptedAt: formatInstant(acceptedAt) }),
    ...(HAS_PROGRESS.has(status) && { percentComplete }),
    ...(status === 'delivered' && {
      results: {
        completedAt: formatInstant(completedAt),
        activityCount: fileTotals(files).posts + activityCountOff,
        fileCount: files.length,
        fileSizeMb: megabytes(fileTotals(files).bytes),
        dataURL: jobUrl(job, address, '/results.json'),
        expiresAt: formatInstant(runner.expiresAt),
      },
    }),
  };
}

export function createdView(
  runner: JobRunner,
  outcomes: readonly RuleOutcome[],
  address: JobAddress,
): string {
  return withRules(jobView(runner, address), outcomes, runner.job.requestedAt);
}

export function invalidView(
  request: CreateRequest,
  outcomes: readonly RuleOutcome[],
  address: JobAddress,
  now: number,
): string {
  const { title, format, window } = request;
  const view = {
    ...requestView({ title, format, ...window }, address),
    status: 'error',
    statusMessage: INVALID_RULES,
    reason: INVALID_RULES,
  };
  return withRules(view, outcomes, now);
}

const INVALID_RULES = 'Invalid Rules, see details.';

export function jobListView(runners: readonly JobRunner[], address: JobAddress): object {
  const delivered = runners.filter(({ job }) => job.status === 'delivered');
  const sum = (numberOf: (runner: JobRunner) => number) =>
    delivered.reduce((total, runner) => total + numberOf(runner), 0);
  return {
    jobs: runners.map(({ job, percentComplete, expiresAt }) => ({
      title: job.title,
      jobURL: jobUrl(job, address),
      status: job.status,
      publisher: address.publisher,
      streamType: 'track_v2',
      fromDate: formatTimestamp(job.from),
      toDate: formatTimestamp(job.to),
      percentComplete,
      ...(Number.isFinite(expiresAt) && { expiresAt: formatInstant(expiresAt) }),
    })),
    delivered: {
      jobCount: delivered.length,
      jobDaysRun: sum(({ job }) => jobDays(job)),
      activityCount: sum(({ files }) => fileTotals(files).posts),
    },
  };
}

export function resultsView(
  runner: JobRunner,
  address: FileAddress,
  wrong?: WrongTotalsFault | undefined,
): object {
  const { job, files } = runner;
  return {
    urlCount: files.length + (wrong?.urlCount ?? 0),
    urlList: files.map(({ segment }) => fileUrl(runner, segment, address)),
    totalFileSizeBytes: fileTotals(files).bytes + (wrong?.totalFileSizeBytes ?? 0),
    ...(hasSuspectMinutes(runner) && {
      suspectMinutesURL: jobUrl(job, address, '/suspectMinutes.json'),
    }),
    expiresAt: formatInstant(address.expiresAt),
  };
}

/**
 * Returns the files of a delivered job as text, one per line: the local name, a tab and the URL.
 */
export function resultsCsv(runner: JobRunner, address: FileAddress): string {
  return runner.files
    .map(
      ({ segment }) => `${localName(runner.job, segment)}\t${fileUrl(runner, segment, address)}\n`,
    )
    .join('');
}

export function hasSuspectMinutes({ job }: JobRunner): boolean {
  return job.suspectMinutes !== undefined && job.suspectMinutes.length > 0;
}

export function suspectMinutesView({ job }: JobRunner): object {
  return { suspectMinutes: job.suspectMinutes?.map(formatTimestamp) };
}

export function fileTotals(files: readonly DataFile[]): Pick<DataFile, 'posts' | 'bytes'> {
  const totals = { posts: 0, bytes: 0 };
  for (const { posts, bytes } of files) {
    totals.posts += posts;
    totals.bytes += bytes;
  }
  return totals;
}

function fileUrl({ job }: JobRunner, segment: number, address: FileAddress): string {
  const path = dataPath(job, segment, address.publisher, address.account);
  return address.filesUrl + address.urls.sign(path, address.expiresAt);
}

function jobUrl({ uuid }: JobRecord, { base }: JobAddress, rest = '.json'): string {
  return `${base}/jobs/${uuid}${rest}`;
}

/** Formats an instant as `2024-05-15T12:34:56Z`. */
function formatInstant(ms: number): string {
  return new Date(Math.floor(ms / SECOND) * SECOND).toISOString().replace('.000Z', 'Z');
}

const HAS_PROGRESS: ReadonlySet<JobState> = new Set([
  'estimating',
  'quoted',
  'running',
  'completed',
  'delivered',
]);

function requestView(
  { title, format, from, to }: Pick<JobRecord, 'title' | 'format' | 'from' | 'to'>,
  { account, publisher }: JobAddress,
) {
  const dates = { fromDate: formatTimestamp(from), toDate: formatTimestamp(to) };
  return { title, account, publisher, streamType: 'track_v2', format, ...dates };
}

function withRules(view: object, outcomes: readonly RuleOutcome[], now: number): string {
  return `${JSON.stringify(view).slice(0, -1)},"rules":${outcomesText(outcomes, now)}}`;
}

const MESSAGES: Record<Exclude<JobState, 'opened' | 'estimating' | 'failed'>, string> = {
  quoted: 'Job quoted and awaiting customer acceptance.',
  accepted: 'Job accepted and ready to be queued.',
  rejected: 'Job quote rejected by customer.',
  running: 'Job is being processed.',
  completed: 'Job completed and awaiting validation.',
  delivered: 'Job delivered and available for download',
};

const FAILURES: Record<JobPhase, string> = {
  estimating: 'Auto-estimate job has failed. Gnip investigating',
  running: 'Failure running job. Gnip investigating',
  validation: 'Job completed but failed validation. Gnip investigating.',
};

/** Returns the status message, with the exact words of the real service. */
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
