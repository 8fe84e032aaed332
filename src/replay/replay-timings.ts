import { DAY, MINUTE, SECOND } from '../time.js';

/** All in milliseconds but the counts. What the service demands is in service.md 4.3 and section 8. */
export interface ReplayTimings {
  /** How far back a replay reaches. */
  readonly oldest: number;
  /** How old `fromDate` must be. */
  readonly youngestFrom: number;
  /** How old `toDate` must be. */
  readonly youngestTo: number;
  /** How much of the window one connection asks for: at first, at most, and at least. */
  readonly firstChunk: number;
  readonly longestChunk: number;
  readonly shortestChunk: number;
  /** Up to where the first wait after a failure is drawn; it doubles with each. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** After a 429 that does not say how long. */
  readonly rateLimitWait: number;
  /** Connections in a row that confirm no minute before the replay gives up. */
  readonly attempts: number;
  /** Counts that differ before the minutes are taken as they are, and reported. */
  readonly mismatches: number;
  /** Times that the service says that a minute failed before it is believed, and reported. */
  readonly failures: number;
}

export const TIMINGS: ReplayTimings = {
  oldest: 5 * DAY,
  youngestFrom: 31 * MINUTE,
  youngestTo: 30 * MINUTE,
  firstChunk: 16 * MINUTE,
  longestChunk: 64 * MINUTE,
  shortestChunk: 2 * MINUTE,
  firstWait: 5 * SECOND,
  longestWait: 320 * SECOND,
  rateLimitWait: 300 * SECOND,
  attempts: 20,
  mismatches: 3,
  failures: 10,
};
