import type { Rate } from '../http/rate-limits.js';
import { SECOND } from '../time.js';

/** How much later than its start a request may be counted by the service, or a restart may forget. */
const ARRIVAL = SECOND;

/** When the next connection may be made, under every rate. */
export function nextConnectAt(
  connects: readonly number[],
  rates: readonly Rate[],
  now: number,
): number {
  const free = rates.map(({ requests, perMs }) => {
    // A time to come is of a clock that was set back since.
    const recent = connects.filter(at => at > now - perMs - ARRIVAL && at <= now);
    return recent.length < requests
      ? now
      : (recent[recent.length - requests] as number) + perMs + ARRIVAL;
  });
  return Math.max(now, ...free);
}

/** What still counts in any of the rates. */
export function recentConnects(
  connects: readonly number[],
  rates: readonly Rate[],
  now: number,
): readonly number[] {
  const longest = Math.max(0, ...rates.map(rate => rate.perMs));
  return connects.filter(at => at > now - longest - ARRIVAL && at <= now);
}

/** A time that both lists have is the same connection, as often as the longer list has it. */
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
