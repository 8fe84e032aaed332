import { DAY, MINUTE, SECOND } from '../time.js';

/** All in milliseconds but the counts. What the service demands is in service.md 4.3 and section 8. */
export interface ReplayTimings {
  /** How far back a replay reaches. */
  readonly oldestMs: number;
  /** How old `fromDate` must be. */
  readonly youngestFromMs: number;
  /** How old `toDate` must be. */
  readonly youngestToMs: number;
  /** How much of the window one connection asks for: at first, at most, and at least. */
  readonly firstChunkMs: number;
  readonly maxChunkMs: number;
  readonly minChunkMs: number;
  /** Up to where the first wait after a failure is drawn; it doubles with each. */
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** After a 429 that does not say how long. */
  readonly rateLimitWaitMs: number;
  /** Connections in a row that confirm no minute before the replay gives up. */
  readonly attempts: number;
  /** Counts that differ before the minutes are taken as they are, and reported. */
  readonly mismatches: number;
  /** Times that the service says that a minute failed before it is believed, and reported. */
  readonly failures: number;
}

export const TIMINGS: ReplayTimings = {
  oldestMs: 5 * DAY,
  youngestFromMs: 31 * MINUTE,
  youngestToMs: 30 * MINUTE,
  firstChunkMs: 16 * MINUTE,
  maxChunkMs: 64 * MINUTE,
  minChunkMs: 2 * MINUTE,
  firstWaitMs: 5 * SECOND,
  maxWaitMs: 320 * SECOND,
  rateLimitWaitMs: 300 * SECOND,
  attempts: 20,
  mismatches: 3,
  failures: 10,
};
