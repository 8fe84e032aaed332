import type { ComplianceGap } from 'millrace';
import { minuteOf } from './windows.js';

/** A range of minutes, in epoch milliseconds. It excludes the minute of `to`. */
export interface Minutes {
  readonly from: number;
  readonly to: number;
}

export interface NamedMinutes {
  readonly reason: string;
  /** Returns the minutes. They depend on the service's current time, which changes during a run. */
  minutes(): Minutes;
}

export function mustName(
  gaps: readonly ComplianceGap[],
  { reason, min, max }: { reason: string; min: Minutes; max: Minutes },
): void {
  const [from, to] = [minuteOf(max.from), minuteOf(max.to)];
  const wrong = gaps.find(
    gap =>
      gap.reason !== reason ||
      !(from <= gap.fromDate && gap.fromDate < gap.toDate && gap.toDate <= to),
  );
  if (wrong !== undefined)
    throw new Error(
      `A wrong gap: ${JSON.stringify(wrong)}. Only ${from} to ${to} may be in one, as ${reason}`,
    );
  const missing = firstUnnamed(gaps, min);
  if (missing !== undefined) throw new Error(`No gap names ${missing}: ${JSON.stringify(gaps)}`);
}

export function firstUnnamed(
  gaps: readonly ComplianceGap[],
  { from, to }: Minutes,
): string | undefined {
  const end = minuteOf(to);
  for (let at = from; minuteOf(at) < end; at += 60_000)
    if (!isNamed(gaps, minuteOf(at))) return minuteOf(at);
  return undefined;
}

/** Returns whether a minute (`YYYYMMDDHHMM`) is in a gap. */
export function isNamed(
  gaps: readonly Pick<ComplianceGap, 'fromDate' | 'toDate'>[],
  minute: string,
): boolean {
  return gaps.some(({ fromDate, toDate }) => fromDate <= minute && minute < toDate);
}
