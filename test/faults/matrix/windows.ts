// Apart from the archive, which children do not make.

/** The service's time at the start of every trial, so that a seed means the same on any day. */
export const NOW = Date.UTC(2024, 4, 15, 12, 34, 56);

/** The windows of the pipelines, `[from, to)` in epoch milliseconds, apart from each other. */
export const WINDOWS = {
  search: { from: at('2024-05-10T00:00Z'), to: at('2024-05-15T00:00Z') },
  counts: { from: at('2024-01-20T00:00Z'), to: at('2024-05-10T00:00Z') },
  replay: { from: at('2024-05-15T09:00Z'), to: at('2024-05-15T09:24Z') },
  engagement: { from: at('2023-12-01T10:00Z'), to: at('2023-12-01T12:00Z') },
  job: { from: at('2024-03-01T10:00Z'), to: at('2024-03-01T12:00Z') },
} as const;

/** What one connection of a replay asks for, but for a merged one. */
export const REPLAY_CHUNK_MS = 8 * 60_000;

/** How long before the present a compliance run begins. */
export const COMPLIANCE_SINCE_MS = 10 * 60_000;

/** How late events may come: a run that begins in the past asks for so much more. */
export const LATE_MS = 60_000;

export const QUERY = 'coffee';

function at(time: string): number {
  return Date.parse(time);
}

/** `YYYYMMDDHHMM`, in UTC. */
export function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12);
}

/** The milliseconds since an epoch, as ids count them. */
const ID_EPOCH_MS = 1_288_834_974_657;

/** When a post was made, by its id. */
export function postedAt(id: string): number {
  return Number(BigInt(id) >> 22n) + ID_EPOCH_MS;
}

/** The first id of a time. */
export function idAt(ms: number): string {
  return String(BigInt(ms - ID_EPOCH_MS) << 22n);
}
