import { OptionError } from '../base/errors.js';
import type { Format } from '../post/activity.js';

/** The status of a job, in the order in which a job goes through them. */
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

/** What the service expects a job to cost and deliver. */
export interface JobQuote {
  /** US dollars. Absent when the account's subscription includes the cost. */
  readonly costDollars?: number | undefined;
  /** An order of magnitude, at least 100: 100 stands for 0 to 1,000 posts. */
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** Megabytes of all files, compressed. */
  readonly estimatedFileSizeMb: number;
  /** The job can be accepted or rejected until then, ISO 8601. */
  readonly expiresAt: string;
}

/** Totals of a delivered job, and how long its files can be downloaded. */
export interface JobResults {
  /** ISO 8601. */
  readonly completedAt?: string | undefined;
  readonly activityCount?: number | undefined;
  readonly fileCount?: number | undefined;
  readonly fileSizeMb?: number | undefined;
  readonly dataURL?: string | undefined;
  /** The files can be downloaded until then, ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A historical job. Dates are as the service gives them. */
export interface Job {
  /** Identifies the job in its address. */
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
  /** A status that is not in `JobStatus` is returned unchanged. */
  readonly status: JobStatus | (string & {});
  /** A message for people. Its wording may change. */
  readonly statusMessage: string;
  readonly jobURL: string;
  /** Present once the job has been estimated. */
  readonly quote?: JobQuote | undefined;
  readonly acceptedBy?: string | undefined;
  /** When the job was accepted or rejected: `status` tells which. */
  readonly acceptedAt?: string | undefined;
  /** 0 to 100. */
  readonly percentComplete?: number | undefined;
  /** Present once the job is delivered. */
  readonly results?: JobResults | undefined;
}

/** A job whose files can be downloaded. */
export interface DeliveredJob extends Job {
  readonly status: 'delivered';
  readonly results: JobResults;
}

/** Whether it is known as delivered, with its results; not where it is only a name. */
export function isDelivered(job: JobName | Job): job is DeliveredJob {
  if (typeof job === 'string' || !('status' in job)) return false;
  return job.status === 'delivered' && job.results !== undefined;
}

/** A rule of a new job, and whether the service created it. */
export interface CreatedRule {
  readonly value: string;
  readonly tag: string | null;
  /** 64 bits, so a string of digits. Absent if the rule was not created. */
  readonly id?: string | undefined;
  readonly created: boolean;
  /** Why it was not created. */
  readonly message?: string | undefined;
}

/** A new job, with what happened to each of its rules. */
export interface CreatedJob extends Job {
  /** Absent if the job was created by an attempt whose response was lost. */
  readonly rules?: readonly CreatedRule[] | undefined;
}

/** A job in the list of jobs. */
export interface JobListItem
  extends Pick<Job, 'uuid' | 'title' | 'jobURL' | 'status' | 'publisher' | 'streamType'>,
    Pick<Job, 'fromDate' | 'toDate' | 'percentComplete'> {
  readonly expiresAt?: string | undefined;
}

/** All jobs of the account that have not expired, and totals over the delivered ones. */
export interface JobList {
  readonly jobs: readonly JobListItem[];
  /** Totals of all delivered jobs. */
  readonly delivered: {
    readonly jobCount: number;
    /** Historical days: see `jobs.countDays`. */
    readonly jobDaysRun: number;
    readonly activityCount: number;
  };
}

/** The addresses of the files of a delivered job. */
export interface JobListing {
  readonly urlCount: number;
  /** Signed addresses: an address gives access to its file, so keep it out of logs. */
  readonly urlList: readonly string[];
  readonly totalFileSizeBytes?: number | undefined;
  /** Present when minutes of the job may be incomplete. */
  readonly suspectMinutesURL?: string | undefined;
  /** ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A file of a delivered job, from one line of the CSV list. */
export interface JobCsvFile {
  readonly name: string;
  readonly url: string;
}

/** A job, its uuid, or its `jobURL`. */
export type JobName = string | { readonly uuid: string };

/** @throws OptionError if it does not identify a job. */
export function uuidOf(job: JobName): string {
  const text = typeof job === 'string' ? job : job?.uuid;
  const uuid = typeof text === 'string' ? (uuidIn(text) ?? text) : '';
  if (!/^[A-Za-z0-9_-]+$/.test(uuid))
    throw new OptionError('job', '`job` must be a job, its uuid, or its `jobURL`');
  return uuid;
}

/** The uuid in the address of a job. */
export function uuidIn(jobURL: string): string | undefined {
  return /\/jobs\/([A-Za-z0-9_-]+)(?:\.json|\/|$)/.exec(jobURL)?.[1];
}
