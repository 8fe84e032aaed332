import { DAY, floorTo, type Window } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import type { KnownRule } from '../http/rule-outcomes.js';

/** `rejected`, `delivered` and `failed` are final. */
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

export interface Quote {
  /** Absent for an account whose subscription includes the cost. */
  readonly costDollars?: number | undefined;
  readonly estimatedActivityCount: number;
  readonly estimatedDurationHours: number;
  /** Of all files, compressed. */
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

/** The stored record of a job, as JSON. Instants are epoch milliseconds. */
export interface Job {
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
  readonly status: JobStatus;
  /** When the job reached this status. */
  readonly since: number;
  readonly quote?: Quote | undefined;
  /** Who accepted or rejected the quote, and when. */
  readonly acceptedBy?: string | undefined;
  readonly acceptedAt?: number | undefined;
  readonly completedAt?: number | undefined;
  /** Minutes whose data may be incomplete. */
  readonly suspectMinutes?: readonly number[] | undefined;
  /** The failed stage, which selects the status message. */
  readonly failure?: JobStage | undefined;
  /** The job has expired: only this record is left. */
  readonly gone?: boolean | undefined;
}

/** The stages in which a job can fail. */
export type JobStage = 'estimating' | 'running' | 'validation';

/** A transition: the new status, its instant, and the fields that change with it. */
export type JobChange = Pick<Job, 'status' | 'since'> & Partial<Job>;

/** The number of UTC days that a window touches: the unit in which jobs are priced. */
export function jobDays({ from, to }: Window): number {
  return to <= from ? 0 : (floorTo(DAY, to - 1) - floorTo(DAY, from)) / DAY + 1;
}
