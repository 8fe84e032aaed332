import { DAY, floorTo, SECOND, type Window } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import type { KnownRule } from '../http/rule-bodies.js';

/** The status of a job. `rejected`, `delivered` and `failed` are final. */
export type JobState =
  | 'opened'
  | 'estimating'
  | 'quoted'
  | 'accepted'
  | 'rejected'
  | 'running'
  | 'completed'
  | 'delivered'
  | 'failed';

export interface Quote {
  /** The cost in US dollars. Absent if the account's subscription includes it. */
  readonly costDollars?: number | undefined;
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** The compressed size of all files in megabytes. */
  readonly estimatedFileSizeMb: number;
  /** The time at which the quote expires, in epoch milliseconds. */
  readonly expiresAt: number;
}

export interface DataFile {
  /** The start of the ten minutes that the file covers, in epoch milliseconds. */
  readonly segment: number;
  readonly posts: number;
  readonly bytes: number;
  /** The MD5 of the compressed file, in hexadecimal. */
  readonly md5: string;
}

/**
 * Returns the path of a file relative to the folder of its job, such as
 * `2013/07/22/15/00_activities.json.gz`. The URL of the file ends in the same path.
 */
export function segmentPath(segment: number): string {
  const [year, month, day, hour, minute] = new Date(segment).toISOString().split(/[-T:]/);
  return `${year}/${month}/${day}/${hour}/${minute}_activities.json.gz`;
}

/** The stored record of a job, as JSON. Instants are in epoch milliseconds. */
export interface JobRecord {
  readonly uuid: string;
  /** The serial number of the job, which increases with each created job. */
  readonly number: number;
  readonly title: string;
  readonly format: Format;
  readonly from: number;
  readonly to: number;
  readonly rules: readonly KnownRule[];
  readonly requestedBy: string;
  readonly requestedAt: number;
  readonly status: JobState;
  /** The time at which the job reached this status. */
  readonly since: number;
  readonly quote?: Quote | undefined;
  /** The customer who has accepted or rejected the quote. */
  readonly acceptedBy?: string | undefined;
  readonly acceptedAt?: number | undefined;
  readonly completedAt?: number | undefined;
  /** The minutes whose data may be incomplete. */
  readonly suspectMinutes?: readonly number[] | undefined;
  /** The phase in which the job has failed. The status message of the job depends on it. */
  readonly failure?: JobPhase | undefined;
  /** Set if the job has expired, so that only this record is left. */
  readonly gone?: boolean | undefined;
}

export type JobPhase = 'estimating' | 'running' | 'validation';

/** A transition: the new status, its time, and the fields that change with it. */
export type JobChange = Pick<JobRecord, 'status' | 'since'> & Partial<JobRecord>;

/** Returns the number of UTC days that a window overlaps, by which jobs are priced. */
export function jobDays({ from, to }: Window): number {
  return to <= from ? 0 : (floorTo(DAY, to - 1) - floorTo(DAY, from)) / DAY + 1;
}

// A job expires after 15 days (`jobRetentionMs`). Its files and rules are then removed, requests for it get a
// 404, and its title can be used again. Only its record stays, because it still counts towards the limits for
// new jobs.

/**
 * Returns the time at which a job expires, in epoch milliseconds, rounded down to the second. A job expires
 * `retentionMs` after its acceptance. A job that was not accepted expires `retentionMs` after its quote or
 * failed estimate. A job with none of these does not expire yet.
 */
export function expiryOf(job: JobRecord, retentionMs: number): number {
  const { status, quote, acceptedAt, since } = job;
  const expiry = (at: number) => floorTo(SECOND, at + retentionMs);
  if (status === 'rejected' || status === 'quoted') return quote?.expiresAt ?? expiry(since);
  if (acceptedAt !== undefined) return expiry(acceptedAt);
  return status === 'failed' ? expiry(since) : Number.POSITIVE_INFINITY;
}

export function expired(job: JobRecord, now: number): JobChange {
  return { ...job, since: now, rules: [], gone: true };
}
