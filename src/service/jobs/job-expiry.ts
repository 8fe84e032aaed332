import { floorTo, SECOND } from '../../base/time.js';
import type { Job, JobChange } from './job-record.js';

// A job expires after fifteen days (`jobRetentionMs`): its files and rules are removed, requests for it are answered with
// 404, it leaves the list, and its title is free again. A small record stays, which counts against the rates of new jobs.

/**
 * When a job expires, rounded down to the second as responses show it: 15 days after its quote, or
 * after its acceptance. A job whose estimate failed has no quote; its days count from the failure.
 */
export function expiryOf(job: Job, retentionMs: number): number {
  const { status, quote, acceptedAt, since } = job;
  const expiry = (at: number) => floorTo(SECOND, at + retentionMs);
  if (status === 'rejected' || status === 'quoted') return quote?.expiresAt ?? expiry(since);
  if (acceptedAt !== undefined) return expiry(acceptedAt);
  return status === 'failed' ? expiry(since) : Number.POSITIVE_INFINITY;
}

/** The transition of an expired job to what is left of it. */
export function expired(job: Job, now: number): JobChange {
  return { ...job, since: now, rules: [], gone: true };
}
