import type { Rate } from '../http/rate-limits.js';
import { SECOND } from '../time.js';

/** The service may count a request this much after it was sent. */
const ARRIVAL = SECOND;

/** The earliest time of the next connection, under all rates. */
export function nextConnectAt(
  connects: readonly number[],
  rates: readonly Rate[],
  now: number,
): number {
  const free = rates.map(({ requests, perMs }) => {
    // A future time means that the clock was set back.
    const recent = connects.filter(at => at > now - perMs - ARRIVAL && at <= now);
    return recent.length < requests
      ? now
      : (recent[recent.length - requests] as number) + perMs + ARRIVAL;
  });
  return Math.max(now, ...free);
}

/** The connections that still count in any of the rates. */
export function recentConnects(
  connects: readonly number[],
  rates: readonly Rate[],
  now: number,
): readonly number[] {
  const longest = Math.max(0, ...rates.map(rate => rate.perMs));
  return connects.filter(at => at > now - longest - ARRIVAL && at <= now);
}

/** Merges two lists. A time in both is the same connection. */
export function mergeConnects(
  own: readonly number[],
  others: readonly number[],
): readonly number[] {
  const unmatched = [...own];
  const more = others.filter(at => {
    const known = unmatched.indexOf(at);
    if (known !== -1) unmatched.splice(known, 1);
    return known === -1;
  });
  return [...own, ...more].sort((a, b) => a - b);
}
