// Child processes import this file. It is separate from `archive.ts`, so that they do not generate
// the archive.

/**
 * The service's time at the start of every trial, so that a seed has the same effect on any day.
 */
export const NOW = Date.UTC(2024, 4, 15, 12, 34, 56);

/**
 * The time ranges that the pipelines read, `[from, to)` in epoch milliseconds. They do not overlap.
 */
export const WINDOWS = {
  search: { from: at('2024-05-10T00:00Z'), to: at('2024-05-15T00:00Z') },
  counts: { from: at('2024-01-20T00:00Z'), to: at('2024-05-10T00:00Z') },
  replay: { from: at('2024-05-15T09:00Z'), to: at('2024-05-15T09:24Z') },
  engagement: { from: at('2023-12-01T10:00Z'), to: at('2023-12-01T12:00Z') },
  job: { from: at('2024-03-01T10:00Z'), to: at('2024-03-01T12:00Z') },
} as const;

/** The length of the time range that each replay connection requests, except in a merged replay. */
export const REPLAY_CHUNK_MS = 8 * 60_000;

/** A compliance run starts this long before the current time. */
export const COMPLIANCE_SINCE_MS = 10 * 60_000;

/**
 * Events arrive at most this much later than their time. Therefore, a run that starts in the past
 * also requests events from this long before its start.
 */
export const LATE_MS = 60_000;

export const QUERY = 'coffee';

function at(time: string): number {
  return Date.parse(time);
}

/** Formats a time as `YYYYMMDDHHMM` in UTC. */
export function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12);
}

const ID_EPOCH_MS = 1_288_834_974_657;

export function postedAt(id: string): number {
  return Number(BigInt(id) >> 22n) + ID_EPOCH_MS;
}

export function idAt(ms: number): string {
  return String(BigInt(ms - ID_EPOCH_MS) << 22n);
}
