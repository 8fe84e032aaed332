import { HOUR, type Window } from '../../time.js';
import type { Estimate } from './estimate.js';
import type { Quote } from './job.js';
import { jobDays } from './job-days.js';

export interface QuoteTerms {
  /** The fewest activities that a quote names. */
  readonly leastActivities: number;
  /** Price of a job day; none for an account whose subscription includes the cost. */
  readonly dollarsPerDay: number | undefined;
  /** Milliseconds that a job stays in its states at least, once it runs. */
  readonly runMs: number;
  readonly expiresAt: number;
}

/** What a customer is told of an estimate (service.md 2.5). */
export function quoteOf(
  window: Window,
  { posts, bytes, readMs }: Estimate,
  terms: QuoteTerms,
): Quote {
  const { leastActivities, dollarsPerDay, runMs, expiresAt } = terms;
  const hours = Number.isFinite(runMs) ? (runMs + readMs) / HOUR : 0;
  return {
    ...(dollarsPerDay === undefined ? {} : { costDollars: jobDays(window) * dollarsPerDay }),
    estimatedActivityCount: Math.max(leastActivities, orderOfMagnitude(posts)),
    estimatedDurationHours: Math.ceil(hours * 10) / 10,
    estimatedFileSizeMb: megabytes(bytes),
    expiresAt,
  };
}

/** 1000 for 1000 to 9999. */
function orderOfMagnitude(count: number): number {
  return 10 ** (String(Math.floor(count)).length - 1);
}

/** To the hundred bytes: jobs of a made-up archive are small. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 100) / 10_000;
}
