import { checkOptions, type OptionTable, special, whole } from '../base/check.js';
import { DAY, MINUTE, SECOND } from '../base/time.js';

/** The times and limits of a replay. Durations are in milliseconds. */
export interface ReplayTimings {
  /** The age of the oldest minutes that can be replayed. @default 5 days */
  readonly oldestMs: number;
  /** The minimum age of `fromDate`. @default 31 minutes */
  readonly youngestFromMs: number;
  /** The minimum age of `toDate`. @default 30 minutes */
  readonly youngestToMs: number;
  /** The length of the first requested range. Ranges are whole minutes. @default 16 minutes */
  readonly firstChunkMs: number;
  /**
   * The maximum length of the range of minutes that one connection requests. The length doubles after each
   * success.
   * @default 5 days
   */
  readonly maxChunkMs: number;
  /**
   * The minimum length of the range of minutes that one connection requests. The length is halved when a
   * connection breaks.
   * @default 2 minutes
   */
  readonly minChunkMs: number;
  /**
   * The maximum wait after the first failure. The maximum doubles with each consecutive failure. The actual
   * wait is random, between half of the maximum and the maximum.
   * @default 5 seconds
   */
  readonly firstWaitMs: number;
  /** The upper limit of a wait after consecutive failures. @default 320 seconds */
  readonly maxWaitMs: number;
  /** The wait after a 429 without `Retry-After`. @default 300 seconds */
  readonly rateLimitWaitMs: number;
  /**
   * The replay gives up after this number of consecutive connections that failed or had no final message.
   * @default 20
   */
  readonly attempts: number;
  /** The number of wrong counts after which minutes are accepted and reported as `unverified`. @default 3 */
  readonly mismatches: number;
  /** The number of failures after which a minute is reported as `failed`. @default 10 */
  readonly failures: number;
}

const chunkMinutes = (meaning: string, minutes: number) =>
  special<number, number>(
    meaning,
    'whole minutes, in milliseconds',
    // If a range ended within a minute, the rest of that minute would count as delivered and never be
    // requested.
    value =>
      Number.isSafeInteger(value) && (value as number) > 0 && (value as number) % MINUTE === 0,
    minutes * MINUTE,
  );

export const TIMING_OPTIONS = {
  oldestMs: whole('the age of the oldest minutes', { min: 1, default: 5 * DAY }),
  youngestFromMs: whole('the least age of `fromDate`', { min: 1, default: 31 * MINUTE }),
  youngestToMs: whole('the least age of `toDate`', { min: 1, default: 30 * MINUTE }),
  firstChunkMs: chunkMinutes('the part of the window that one connection requests first', 16),
  maxChunkMs: chunkMinutes('the longest chunk', (5 * DAY) / MINUTE),
  minChunkMs: chunkMinutes('the shortest chunk', 2),
  firstWaitMs: whole('the longest first wait after a failure', { default: 5 * SECOND }),
  maxWaitMs: whole('the longest wait between two connections', { default: 320 * SECOND }),
  rateLimitWaitMs: whole('the wait after a 429', { default: 300 * SECOND }),
  attempts: whole('connections in a row that confirm no minute', { min: 1, default: 20 }),
  mismatches: whole('wrong counts before minutes are accepted', { min: 1, default: 3 }),
  failures: whole('failures of a minute before it is reported', { min: 1, default: 10 }),
} satisfies OptionTable<Partial<ReplayTimings>>;

export const TIMINGS: ReplayTimings = checkOptions<Partial<ReplayTimings>, typeof TIMING_OPTIONS>(
  'replay',
  TIMING_OPTIONS,
  {},
);
