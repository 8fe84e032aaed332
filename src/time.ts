import { OptionError } from './errors.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The ten minutes that one job file covers (service.md 2.6). */
export const SEGMENT = 10 * MINUTE;

/** The first minute of the archive: 21 March 2006 (service.md section 8). */
export const FIRST_POST = Date.UTC(2006, 2, 21);

/** A span of time in epoch milliseconds: `from` inclusive, `to` exclusive. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

const TIMESTAMP = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})$/;

/**
 * Epoch milliseconds of a `YYYYMMDDHHMM` timestamp (UTC), or `undefined` when it is not one.
 * Dates that do not exist, such as 30 February, are not timestamps.
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

/** `YYYYMMDDHHMM` (UTC) of an instant, floored to its minute. */
export function formatTimestamp(ms: number): string {
  const iso = new Date(ms).toISOString();
  return (
    iso.slice(0, 4) + iso.slice(5, 7) + iso.slice(8, 10) + iso.slice(11, 13) + iso.slice(14, 16)
  );
}

/** The service's second-precision instant with an explicit offset, as in `sent` (service.md 2.7). */
export function formatSent(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}

/** A point in time as options take it: the service's own `YYYYMMDDHHMM`, or a `Date`. */
export type Timestamp = string | Date;

/** Normalises an option to `YYYYMMDDHHMM`; a `Date` is floored to its minute. */
export function timestampOption(option: string, value: Timestamp): string {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime()))
      throw new OptionError(option, `\`${option}\` is an invalid Date`);
    return formatTimestamp(value.getTime());
  }
  if (typeof value !== 'string' || parseTimestamp(value) === undefined)
    throw new OptionError(
      option,
      `Expected \`${option}\` to be a UTC timestamp YYYYMMDDHHMM or a Date, got ${JSON.stringify(value)}`,
    );
  return value;
}

/** Start of the unit of time (a multiple of `unit` milliseconds since 1970) that `ms` lies in. */
export function floorTo(unit: number, ms: number): number {
  return Math.floor(ms / unit) * unit;
}
