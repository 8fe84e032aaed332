import { DAY, floorTo, SECOND, type Window } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import type { KnownRule } from '../http/rule-bodies.js';

/** `rejected`, `delivered` and `failed` are final. */
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
  /** Absent for an account whose subscription includes the cost. */
  readonly costDollars?: number | undefined;
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** The compressed size of all files. */
  readonly estimatedFileSizeMb: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** One file of a delivered job. */
export interface DataFile {
  /** Start of its ten minutes, in epoch milliseconds. */
  readonly segment: number;
  readonly posts: number;
  readonly bytes: number;
  /** Hexadecimal MD5 of the compressed file. */
  readonly md5: string;
}

/** The path of a file below the folder of its job, and at the end of its URL: `2013/07/22/15/00_activities.json.gz`. */
export function segmentPath(segment: number): string {
  const [year, month, day, hour, minute] = new Date(segment).toISOString().split(/[-T:]/);
  return `${year}/${month}/${day}/${hour}/${minute}_activities.json.gz`;
}

/** The stored record of a job, as JSON. Instants are epoch milliseconds. */
export interface JobRecord {
  readonly uuid: string;
  /** Counts up with each job created. */
  readonly number: number;
  readonly title: string;
  readonly format: Format;
  readonly from: number;
  readonly to: number;
  readonly rules: readonly KnownRule[];
  readonly requestedBy: string;
  readonly requestedAt: number;
  readonly status: JobState;
  /** When the job reached this status. */
  readonly since: number;
  readonly quote?: Quote | undefined;
  /** Who accepted or rejected the quote, and when. */
  readonly acceptedBy?: string | undefined;
  readonly acceptedAt?: number | undefined;
  readonly completedAt?: number | undefined;
  /** Minutes whose data may be incomplete. */
  readonly suspectMinutes?: readonly number[] | undefined;
  /** The failed phase, which selects the status message. */
  readonly failure?: JobPhase | undefined;
  /** The job has expired: only this record is left. */
  readonly gone?: boolean | undefined;
}

/** The phases in which a job can fail. */
export type JobPhase = 'estimating' | 'running' | 'validation';

/** A transition: the new status, its instant, and the fields that change with it. */
export type JobChange = Pick<JobRecord, 'status' | 'since'> & Partial<JobRecord>;

/** The number of UTC days that a window touches: the unit in which jobs are priced. */
export function jobDays({ from, to }: Window): number {
  return to <= from ? 0 : (floorTo(DAY, to - 1) - floorTo(DAY, from)) / DAY + 1;
}

// A job expires after fifteen days (`jobRetentionMs`): its files and rules are removed, requests for it are answered with
// 404, it leaves the list, and its title is free again. A small record stays, which counts against the rates of new jobs.

/**
 * When a job expires, rounded down to the second as responses show it: 15 days after its quote, or
 * after its acceptance. A job whose estimate failed has no quote; its days count from the failure.
 */
export function expiryOf(job: JobRecord, retentionMs: number): number {
  const { status, quote, acceptedAt, since } = job;
  const expiry = (at: number) => floorTo(SECOND, at + retentionMs);
  if (status === 'rejected' || status === 'quoted') return quote?.expiresAt ?? expiry(since);
  if (acceptedAt !== undefined) return expiry(acceptedAt);
  return status === 'failed' ? expiry(since) : Number.POSITIVE_INFINITY;
}

/** The transition of an expired job to what is left of it. */
export function expired(job: JobRecord, now: number): JobChange {
  return { ...job, since: now, rules: [], gone: true };
}
