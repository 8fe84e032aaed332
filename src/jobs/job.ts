import { OptionError } from '../base/errors.js';
import type { Format } from '../post/activity.js';

/**
 * The status of a job. A job passes through the statuses in this order, except that `rejected` and `failed`
 * are final.
 */
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

/** The cost and size of a job, as the service estimates them. */
export interface JobQuote {
  /** The cost in US dollars. Absent if the account's subscription includes it. */
  readonly costDollars?: number | undefined;
  /**
   * The estimated number of posts. This is only an order of magnitude: a power of ten of at least 100. The
   * value 100 means up to 1,000 posts.
   */
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** The compressed size of all files in megabytes. */
  readonly estimatedFileSizeMb: number;
  /** Until when the job can be accepted or rejected, as ISO 8601. */
  readonly expiresAt: string;
}

/** The totals of a delivered job, and the date until which its files can be downloaded. */
export interface JobResults {
  /** When the job was completed, as ISO 8601. */
  readonly completedAt?: string | undefined;
  readonly activityCount?: number | undefined;
  readonly fileCount?: number | undefined;
  readonly fileSizeMb?: number | undefined;
  readonly dataURL?: string | undefined;
  /** Until when the files can be downloaded, as ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A historical job, as the service describes it. */
export interface Job {
  /** The uuid, which identifies the job in its URL. */
  readonly uuid: string;
  /** The title, unique in the account. */
  readonly title: string;
  readonly account?: string | undefined;
  readonly publisher?: string | undefined;
  readonly streamType?: string | undefined;
  readonly dataFormat?: Format | undefined;
  /** The first minute, inclusive: `YYYYMMDDHHMM`, UTC. */
  readonly fromDate: string;
  /** The end of the window, exclusive: `YYYYMMDDHHMM`, UTC. */
  readonly toDate: string;
  readonly requestedBy?: string | undefined;
  /** When the job was requested, as ISO 8601. */
  readonly requestedAt?: string | undefined;
  /** The status. If the service returns a status that is not in `JobStatus`, it is kept unchanged. */
  readonly status: JobStatus | (string & {});
  /** A message for people. Its wording may change. */
  readonly statusMessage: string;
  readonly jobURL: string;
  /** Present once the job has been estimated. */
  readonly quote?: JobQuote | undefined;
  readonly acceptedBy?: string | undefined;
  /** When the job was accepted or rejected. `status` tells which of the two happened. */
  readonly acceptedAt?: string | undefined;
  /** The progress in percent, from 0 to 100. */
  readonly percentComplete?: number | undefined;
  /** Present once the job is delivered. */
  readonly results?: JobResults | undefined;
}

/** A job whose files can be downloaded. */
export interface DeliveredJob extends Job {
  readonly status: 'delivered';
  readonly results: JobResults;
}

/** Whether a job is delivered. False if `job` is only the uuid of a job. */
export function isDelivered(job: JobName | Job): job is DeliveredJob {
  if (typeof job === 'string' || !('status' in job)) return false;
  return job.status === 'delivered' && job.results !== undefined;
}

/** A rule of a new job, and whether the service created it. */
export interface CreatedRule {
  readonly value: string;
  readonly tag: string | null;
  /** The 64-bit id of the rule, as digits. Absent if the rule was not created. */
  readonly id?: string | undefined;
  readonly created: boolean;
  /** Why the rule was not created. */
  readonly message?: string | undefined;
}

/** A new job, and the result for each of its rules. */
export interface CreatedJob extends Job {
  /** Absent if the response to the request that created the job was lost. */
  readonly rules?: readonly CreatedRule[] | undefined;
}

/** A job in the list of jobs. */
export interface JobListItem
  extends Pick<Job, 'uuid' | 'title' | 'jobURL' | 'status' | 'publisher' | 'streamType'>,
    Pick<Job, 'fromDate' | 'toDate' | 'percentComplete'> {
  readonly expiresAt?: string | undefined;
}

/** All jobs of the account that have not expired, and the totals of the delivered jobs. */
export interface JobList {
  readonly jobs: readonly JobListItem[];
  /** The totals of all delivered jobs. */
  readonly delivered: {
    readonly jobCount: number;
    /** The number of historical days; see `jobs.countDays`. */
    readonly jobDaysRun: number;
    readonly activityCount: number;
  };
}

/** The URLs of the files of a delivered job. */
export interface JobListing {
  readonly urlCount: number;
  /** Signed URLs. Keep them out of logs, because each URL gives access to its file. */
  readonly urlList: readonly string[];
  readonly totalFileSizeBytes?: number | undefined;
  /** Present if minutes of the job may be incomplete. */
  readonly suspectMinutesURL?: string | undefined;
  /** When the URLs expire, as ISO 8601. */
  readonly expiresAt?: string | undefined;
}

/** A file of a delivered job, from one line of the CSV list. */
export interface JobCsvFile {
  readonly name: string;
  readonly url: string;
}

/** A job, the uuid of a job, or the `jobURL` of a job. */
export type JobName = string | { readonly uuid: string };

/**
 * Returns the uuid of a job.
 *
 * @throws OptionError if the argument does not identify a job.
 */
export function uuidOf(job: JobName): string {
  const text = typeof job === 'string' ? job : job?.uuid;
  const uuid = typeof text === 'string' ? (uuidIn(text) ?? text) : '';
  if (!/^[A-Za-z0-9_-]+$/.test(uuid))
    throw new OptionError('job', '`job` must be a job, its uuid, or its `jobURL`');
  return uuid;
}

export function uuidIn(jobURL: string): string | undefined {
  return /\/jobs\/([A-Za-z0-9_-]+)(?:\.json|\/|$)/.exec(jobURL)?.[1];
}
