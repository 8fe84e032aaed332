import type { Format } from '../../activity/activity.js';
import { floorTo, SECOND } from '../../time.js';

/** Service.md section 3. */
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

export interface JobRule {
  readonly value: string;
  readonly tag: string | null;
  /** 63 bits, as digits. */
  readonly id: string;
}

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
  /** Hexadecimal, of the file as it is. */
  readonly md5: string;
}

/** What is known of a job and kept: JSON. Instants are epoch milliseconds. */
export interface Job {
  readonly uuid: string;
  /** In the order in which jobs were made. */
  readonly number: number;
  readonly title: string;
  readonly format: Format;
  readonly from: number;
  readonly to: number;
  readonly rules: readonly JobRule[];
  readonly requestedBy: string;
  readonly requestedAt: number;
  readonly status: JobStatus;
  /** When it came into this status. */
  readonly since: number;
  readonly quote?: Quote | undefined;
  /** Who accepted or rejected it, and when. */
  readonly acceptedBy?: string | undefined;
  readonly acceptedAt?: number | undefined;
  readonly completedAt?: number | undefined;
  /** Minutes whose data may be incomplete. */
  readonly suspectMinutes?: readonly number[] | undefined;
  /** What failed: how the status message begins. */
  readonly failure?: JobStage | undefined;
  /** Nothing but this record is left of it. */
  readonly gone?: boolean | undefined;
}

/** What can fail. */
export type JobStage = 'estimating' | 'running' | 'validation';

/** What becomes of a job: a status, the instant of it, and what comes to be known by then. */
export type JobChange = Pick<Job, 'status' | 'since'> & Partial<Job>;

/**
 * When a job expires, to the second, as it is shown: 15 days after its quote, or after it was accepted (service.md section 3). One
 * whose estimate failed has no quote; its days begin when it failed.
 */
export function expiryOf(job: Job, retentionMs: number): number {
  const { status, quote, acceptedAt, since } = job;
  const expiry = (at: number) => floorTo(SECOND, at + retentionMs);
  if (status === 'rejected' || status === 'quoted') return quote?.expiresAt ?? expiry(since);
  if (acceptedAt !== undefined) return expiry(acceptedAt);
  return status === 'failed' ? expiry(since) : Number.POSITIVE_INFINITY;
}
