export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The length of the ten-minute span that each file of a job covers. */
export const SEGMENT = 10 * MINUTE;

/** The first minute of the archive: 21 March 2006. */
export const FIRST_POST = Date.UTC(2006, 2, 21);

/** A span of time in epoch milliseconds: `from` inclusive, `to` exclusive. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

const TIMESTAMP = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})$/;

/**
 * Returns the epoch milliseconds of a `YYYYMMDDHHMM` timestamp (UTC), or `undefined` if the text is not a
 * timestamp. Dates that do not exist, such as 30 February, are not timestamps.
 */
export function parseTimestamp(text: string): number | undefined {
  const parts = TIMESTAMP.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute] = parts.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Date.UTC(year, month - 1, day, hour, minute);
  return formatTimestamp(ms) === text ? ms : undefined;
}

/** Formats an instant as `YYYYMMDDHHMM` (UTC), rounded down to its minute. */
export function formatTimestamp(ms: number): string {
  const iso = new Date(ms).toISOString();
  return (
    iso.slice(0, 4) + iso.slice(5, 7) + iso.slice(8, 10) + iso.slice(11, 13) + iso.slice(14, 16)
  );
}

export interface Dates {
  /** The first minute, inclusive: `YYYYMMDDHHMM`, UTC. */
  readonly fromDate: string;
  /** The end of the window, exclusive: `YYYYMMDDHHMM`, UTC. */
  readonly toDate: string;
}

export function datesOf({ from, to }: Window): Dates {
  return { fromDate: formatTimestamp(from), toDate: formatTimestamp(to) };
}

/**
 * Returns the window between two dates. If a bound is not a valid date, it becomes `NaN`, so that `from < to`
 * is false.
 */
export function windowOf({ fromDate, toDate }: Dates): Window {
  return {
    from: parseTimestamp(fromDate) ?? Number.NaN,
    to: parseTimestamp(toDate) ?? Number.NaN,
  };
}

/** Formats an instant as the service formats the member `sent`: to the second, with an explicit offset. */
export function formatSent(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}

/**
 * A point in time as options accept it:
 *
 * - `YYYYMMDDHHMM`, as the service writes it;
 * - an ISO 8601 date such as `2024-01-31`, which means the start of that day;
 * - an ISO 8601 time such as `2024-01-31T23:59`, with or without seconds, in UTC unless it has
 *   another offset;
 * - a `Date`.
 *
 * Times are rounded down to the minute, the unit of the service.
 */
export type Timestamp = string | Date;

const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:[.,]\d+)?)?([Zz]|[+-]\d{2}:\d{2})?)?$/;

/**
 * Returns the epoch milliseconds of a `Timestamp`, rounded down to its minute. Returns `undefined` if the
 * value is not a `Timestamp`. Times that do not exist, such as 30 February or 24:01, are not timestamps.
 */
export function parseDate(value: unknown): number | undefined {
  if (value instanceof Date) {
    const ms = floorTo(MINUTE, value.getTime());
    return isSendable(ms) ? ms : undefined;
  }
  if (typeof value !== 'string') return undefined;
  return parseTimestamp(value) ?? parseIso(value);
}

function parseIso(text: string): number | undefined {
  const [, day, time = '00:00', second = '00', zone = 'Z'] = ISO.exec(text) ?? [];
  if (day === undefined || Number(second) > 59) return undefined;
  const local = parseTimestamp(`${day}${time}`.replaceAll(/[-:]/g, ''));
  if (local === undefined) return undefined;
  if (/z/i.test(zone)) return local;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
  if (hours > 23 || minutes > 59) return undefined;
  const ahead = hours * HOUR + minutes * MINUTE;
  const ms = zone.startsWith('-') ? local + ahead : local - ahead;
  return isSendable(ms) ? ms : undefined;
}

function isSendable(ms: number): boolean {
  return ms >= -62_167_219_200_000 && ms < 253_402_300_800_000;
}

export function floorTo(unit: number, ms: number): number {
  return Math.floor(ms / unit) * unit;
}

export function subtractRanges(window: Window, others: readonly Window[]): Window[] {
  const parts: Window[] = [];
  let from = window.from;
  for (const other of others.toSorted((a, b) => a.from - b.from)) {
    if (other.to <= from || other.from >= window.to) continue;
    if (other.from > from) parts.push({ from, to: other.from });
    from = other.to;
  }
  if (from < window.to) parts.push({ from, to: window.to });
  return parts;
}

export function overlap(a: Window, b: Window): Window | undefined {
  const both = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
  return both.from < both.to ? both : undefined;
}

export function wholeMinutes({ from, to }: Window): Window {
  return { from: floorTo(MINUTE, from), to: floorTo(MINUTE, to + MINUTE - 1) };
}

/** Sorts ranges by their start, and merges ranges that touch or overlap if `alike` returns true for them. */
export function mergeRanges<T extends Window>(
  ranges: readonly T[],
  alike: (a: T, b: T) => boolean,
): T[] {
  const result: T[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && last.to >= range.from && alike(last, range))
      result[result.length - 1] = { ...last, to: Math.max(last.to, range.to) };
    else result.push(range);
  }
  return result;
}

export function shownRange(window: Window): string {
  const { fromDate, toDate } = datesOf(window);
  return `${fromDate} to ${toDate}`;
}
