import type { Format } from '../activity/activity.js';
import { OptionError } from '../errors.js';
import { Fields } from '../http/read-fields.js';
import { checkFileUrl } from './file-url.js';

/** Where a job stands (service.md section 3). */
export type JobStatus =
  | 'opened'
  | 'estimating'
  | 'quoted'
  | 'accepted'
  | 'rejected'
  | 'running'
  | 'completed'
  | 'delivered'
  | 'failed';

/** What a job would cost, bring and take. */
export interface JobQuote {
  /** Absent when the account's subscription includes the cost. */
  readonly costDollars?: number | undefined;
  /** An order of magnitude, 100 at least: 100 stands for anything from none to a thousand. */
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** Of all files, compressed. */
  readonly estimatedFileSizeMb: number;
  /** Until when the job can be accepted or rejected, ISO 8601. */
  readonly expiresAt: string;
}

/** What a delivered job brought. */
export interface JobResults {
  /** ISO 8601. */
  readonly completedAt?: string | undefined;
  readonly activityCount?: number | undefined;
  readonly fileCount?: number | undefined;
  readonly fileSizeMb?: number | undefined;
  readonly dataURL?: string | undefined;
  /** After this no file can be downloaded any more, ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A historical job (service.md 2.5). Dates are as the service gives them. */
export interface Job {
  /** What names the job in its address. */
  readonly uuid: string;
  /** Unique in the account. */
  readonly title: string;
  readonly account?: string | undefined;
  readonly publisher?: string | undefined;
  readonly streamType?: string | undefined;
  readonly dataFormat?: Format | undefined;
  /** `YYYYMMDDHHMM`, UTC, inclusive. */
  readonly fromDate: string;
  /** `YYYYMMDDHHMM`, UTC, exclusive. */
  readonly toDate: string;
  readonly requestedBy?: string | undefined;
  /** ISO 8601. */
  readonly requestedAt?: string | undefined;
  /** A status that service.md does not know comes through as it is. */
  readonly status: JobStatus | (string & {});
  /** For people; its words vary. */
  readonly statusMessage: string;
  readonly jobURL: string;
  /** There once the job is estimated. */
  readonly quote?: JobQuote | undefined;
  readonly acceptedBy?: string | undefined;
  /** When the job was accepted or rejected: only `status` tells which. */
  readonly acceptedAt?: string | undefined;
  /** 0 to 100. */
  readonly percentComplete?: number | undefined;
  /** There once the job is delivered. */
  readonly results?: JobResults | undefined;
}

/** A job whose files can be downloaded. */
export interface DeliveredJob extends Job {
  readonly status: 'delivered';
  readonly results: JobResults;
}

/** What became of each rule of a new job. */
export interface CreatedRule {
  readonly value: string;
  readonly tag: string | null;
  /** 64 bits, so a string. Absent where the rule was not created. */
  readonly id?: string | undefined;
  readonly created: boolean;
  /** Why it was not created. */
  readonly message?: string | undefined;
}

export interface CreatedJob extends Job {
  /** Absent where the job was found again after a broken connection. */
  readonly rules?: readonly CreatedRule[] | undefined;
}

/** A job as the list has it. */
export interface JobListItem {
  readonly uuid: string;
  readonly title: string;
  readonly jobURL: string;
  readonly status: JobStatus | (string & {});
  readonly publisher?: string | undefined;
  readonly streamType?: string | undefined;
  readonly fromDate: string;
  readonly toDate: string;
  readonly percentComplete?: number | undefined;
  readonly expiresAt?: string | undefined;
}

export interface JobList {
  readonly jobs: readonly JobListItem[];
  /** Of all jobs that were delivered. */
  readonly delivered: {
    readonly jobCount: number;
    /** Historical days, see `jobs.countDays`. */
    readonly jobDaysRun: number;
    readonly activityCount: number;
  };
}

/** The files of a delivered job (service.md 2.6). */
export interface JobListing {
  readonly urlCount: number;
  /** Each is its own permission for a while: not for logs. */
  readonly urlList: readonly string[];
  readonly totalFileSizeBytes?: number | undefined;
  /** There when minutes of the window may be incomplete. */
  readonly suspectMinutesURL?: string | undefined;
  /** ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A line of the CSV listing. */
export interface JobCsvFile {
  readonly name: string;
  readonly url: string;
}

/** A job, or what names one: its uuid or `jobURL`. */
export type JobName = string | { readonly uuid: string };

/** @throws OptionError when it names no job. */
export function uuidOf(job: JobName): string {
  const text = typeof job === 'string' ? job : job?.uuid;
  const uuid = typeof text === 'string' ? (uuidIn(text) ?? text) : '';
  if (!/^[A-Za-z0-9_-]+$/.test(uuid))
    throw new OptionError('job', 'Expected a job, its uuid, or its `jobURL`');
  return uuid;
}

function uuidIn(jobURL: string): string | undefined {
  return /\/jobs\/([A-Za-z0-9_-]+)(?:\.json|\/|$)/.exec(jobURL)?.[1];
}

/** `fallback`: the uuid of the job that was asked for. */
export function parseJob(value: unknown, origin: string, fallback?: string): CreatedJob {
  const job = new Fields(value, 'a job', origin);
  const rules = job.object('rules');
  return {
    ...parseListed(job, fallback),
    statusMessage: job.text('statusMessage') ?? '',
    account: job.text('account'),
    dataFormat: formatOf(job.text('format')),
    requestedBy: job.text('requestedBy'),
    requestedAt: job.text('requestedAt'),
    quote: parseQuote(job.object('quote')),
    acceptedBy: job.text('acceptedBy'),
    acceptedAt: job.text('acceptedAt'),
    results: parseResults(job.object('results')),
    ...(rules === undefined ? {} : { rules: rules.objects('detail').map(parseRule) }),
  };
}

export function parseJobList(value: unknown, origin: string): JobList {
  const list = new Fields(value, 'a list of jobs', origin);
  const delivered = list.object('delivered');
  return {
    jobs: list.objects('jobs').map(item => ({
      ...parseListed(item),
      expiresAt: item.text('expiresAt'),
    })),
    delivered: {
      jobCount: delivered?.number('jobCount') ?? 0,
      jobDaysRun: delivered?.number('jobDaysRun') ?? 0,
      activityCount: delivered?.number('activityCount') ?? 0,
    },
  };
}

export function parseJobListing(value: unknown, origin: string): JobListing {
  const listing = new Fields(value, 'the files of a job', origin);
  const urlList = listing.texts('urlList');
  for (const url of urlList) checkFileUrl(url, { origin });
  return {
    urlCount: listing.needNumber('urlCount'),
    urlList,
    totalFileSizeBytes: listing.number('totalFileSizeBytes'),
    // 2.6: the example spells it otherwise than the table.
    suspectMinutesURL: listing.text('suspectMinutesURL') ?? listing.text('suspectMinutesUrl'),
    expiresAt: listing.text('expiresAt'),
  };
}

/** What a job and a list item have in common. */
function parseListed(job: Fields, fallback?: string) {
  const jobURL = job.text('jobURL') ?? '';
  const status = job.needText('status');
  return {
    uuid: uuidIn(jobURL) ?? fallback ?? job.refuse('jobURL', 'the address of a job'),
    title: job.needText('title'),
    jobURL,
    // One example has `open` where the stages have `opened` (section 3).
    status: status === 'open' ? 'opened' : status,
    publisher: job.text('publisher'),
    streamType: job.text('streamType'),
    fromDate: job.needText('fromDate'),
    toDate: job.needText('toDate'),
    percentComplete: job.number('percentComplete'),
  };
}

function parseQuote(quote: Fields | undefined): JobQuote | undefined {
  return (
    quote && {
      costDollars: quote.number('costDollars'),
      estimatedActivityCount: quote.needNumber('estimatedActivityCount'),
      estimatedDurationHours: quote.needNumber('estimatedDurationHours'),
      estimatedFileSizeMb: quote.needNumber('estimatedFileSizeMb'),
      expiresAt: quote.needText('expiresAt'),
    }
  );
}

function parseResults(results: Fields | undefined): JobResults | undefined {
  return (
    results && {
      completedAt: results.text('completedAt'),
      activityCount: results.number('activityCount'),
      fileCount: results.number('fileCount'),
      fileSizeMb: results.number('fileSizeMb'),
      dataURL: results.text('dataURL'),
      expiresAt: results.text('expiresAt'),
    }
  );
}

function parseRule(detail: Fields): CreatedRule {
  const rule = detail.object('rule');
  return {
    value: rule?.text('value') ?? '',
    tag: rule?.text('tag') ?? null,
    id: rule?.text('id'),
    created: detail.flag('created'),
    message: detail.text('message'),
  };
}

/** `activity-streams` is the older spelling (4.6.1). */
function formatOf(text: string | undefined): Format | undefined {
  if (text === 'original') return text;
  return text === 'activity_streams' || text === 'activity-streams'
    ? 'activity_streams'
    : undefined;
}
