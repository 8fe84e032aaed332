import {
  floorTo,
  HOUR,
  MINUTE,
  mergeRanges,
  overlap,
  SECOND,
  subtractRanges,
  type Window,
  wholeMinutes,
} from '../base/time.js';
import { backoffMs } from '../base/wait.js';
import type { Rate } from '../http/rate-limits.js';
import type { InfoMessage } from '../post/in-stream-message.js';
import type { Received } from './receive-replay.js';
import { type ReplayTimings, TIMINGS } from './replay-timings.js';

/** A range of minutes that are not confirmed yet. */
export interface OpenRange extends Window {
  /** How often the number of received activities differed from the service's count. */
  readonly mismatches: number;
  /** How often the service reported these minutes as failed. */
  readonly failures: number;
  /** Whether some activities of this range were already delivered. */
  readonly partial: boolean;
}

export type GapReason = 'expired' | 'failed' | 'unverified';

/**
 * Minutes for which the replay could not confirm that it received all activities. `expired`: the minutes
 * became too old first. `failed`: the service failed repeatedly. `unverified`: the number of received
 * activities differed from the service's count each time.
 */
export interface ReplayGap extends Window {
  readonly reason: GapReason;
}

/** The state of the machine, which is stored in cursors. */
export interface ReplayState {
  readonly open: readonly OpenRange[];
  readonly gaps: readonly ReplayGap[];
  readonly chunk: number;
}

/** Returns the state at the start of a window. Without a window, the state has no minutes to request. */
export function initialState(
  window: Window | undefined,
  { firstChunkMs }: ReplayTimings,
): ReplayState {
  const open = window && { ...window, mismatches: 0, failures: 0, partial: false };
  return { open: open ? [open] : [], gaps: [], chunk: firstChunkMs };
}

export type ReplayAction =
  | { readonly do: 'done' }
  | { readonly do: 'connect'; readonly range: Window }
  | {
      readonly do: 'wait';
      readonly ms: number;
      readonly why: 'too recent' | 'connect limit' | 'after a failure';
    }
  /** The replay ends, because too many consecutive connections failed. */
  | { readonly do: 'give up' };

export type ReplayEnd = Omit<InfoMessage, 'kind' | 'message' | 'sent'>;

interface MachineOptions {
  readonly timings?: ReplayTimings;
  readonly rates: readonly Rate[];
  /**
   * The maximum expected size of a range in bytes. A whole range stays on disk until its final message, and
   * is received again if the connection breaks.
   */
  readonly maxRangeBytes?: number;
}

/**
 * The maximum number of connections and waits that `leftMs` simulates. If more are left, `leftMs` returns no
 * estimate.
 */
const MAX_STEPS = 2_000;

/**
 * The maximum by which responses with status 406 can move the limits of the available minutes, at the recent
 * end and at the old end, in milliseconds. A refused range moves a limit only if it is at most this far from
 * the limit.
 */
const MAX_MARGIN = HOUR;

/**
 * The recovery logic of a replay, as a state machine without I/O, clock or randomness. It decides which
 * minutes to request next, and which minutes are confirmed. The caller calls `next`, performs the returned
 * action, and reports the outcome. `now` is in epoch milliseconds; `random` is from 0 to 1.
 *
 * No minute is confirmed before the final message of its connection, because only this message lists the
 * failed minutes (`minutes_failed`). If a run resumed at the last received activity, the posts of an earlier
 * failed minute would be lost.
 */
export class ReplayMachine {
  readonly #timings: ReplayTimings;
  readonly #options: MachineOptions;
  /**
   * The number of bytes per millisecond of window, in the last range whose connection ended with a final
   * message.
   */
  #bytesPerMs = 0;
  #open: readonly OpenRange[];
  #gaps: readonly ReplayGap[];
  #chunk: number;
  /** The number of consecutive connections without a final message. */
  #failedConnects = 0;
  /** The time before which no connection is made, after a failure. */
  #notBefore = 0;
  /**
   * How far 406 responses have moved the limits of the available minutes, in milliseconds: `#youngMargin` for
   * the limit at the recent end, `#oldMargin` for the limit at the old end.
   */
  #youngMargin = 0;
  #oldMargin = 0;

  constructor(start: Window | ReplayState, options: MachineOptions) {
    const { timings = TIMINGS } = options;
    this.#options = options;
    this.#timings = timings;
    const { open, gaps, chunk } = 'open' in start ? start : initialState(start, timings);
    this.#open = open;
    this.#gaps = gaps;
    this.#chunk = chunk;
  }

  get state(): ReplayState {
    return { open: this.#open, gaps: this.#gaps, chunk: this.#chunk };
  }

  /**
   * Returns the next action.
   *
   * @param now The time of the local clock, which counts connections.
   * @param serviceNow The time of the service's clock, which decides which minutes are available. `undefined`
   *   if no response has shown this clock yet. The next action is then a connection, because its response
   *   shows the clock.
   * @param connects The times of all connections that share one limit, by the local clock, in ascending
   *   order.
   */
  next(
    now: number,
    serviceNow: number | undefined,
    connects: readonly number[] = [],
  ): ReplayAction {
    if (serviceNow !== undefined) this.#expire(serviceNow);
    if (this.#open.length === 0) return { do: 'done' };
    if (this.#failedConnects >= this.#timings.attempts) return { do: 'give up' };
    const range = this.#rangeAt(serviceNow ?? now);
    if (typeof range === 'number' && serviceNow !== undefined)
      return { do: 'wait', ms: range - serviceNow, why: 'too recent' };
    const retryMs = this.#notBefore - now;
    if (retryMs > 0) return { do: 'wait', ms: retryMs, why: 'after a failure' };
    const free = nextConnectAt(connects, this.#options.rates, now);
    if (free > now) return { do: 'wait', ms: free - now, why: 'connect limit' };
    return { do: 'connect', range: typeof range === 'number' ? this.#firstRange() : range };
  }

  /**
   * Handles a response that refuses the dates of a range. If they are too recent or too old by the service's
   * clock, the next range is computed from that clock. Otherwise, fewer minutes count as available: the limit
   * that is closer to the range, recent or old, moves. If both limits are far away, the response counts as an
   * ordinary refusal.
   */
  datesRefused(range: Window, now: number, serviceNow: number, random: number): void {
    const { youngestFromMs, youngestToMs } = this.#timings;
    const young = serviceNow - Math.max(range.to + youngestToMs, range.from + youngestFromMs);
    const old = range.from - this.#oldestAt(serviceNow);
    if (Math.min(young, old) > MAX_MARGIN) {
      this.refused(now, random);
      return;
    }
    // The next request asks for other dates, which may be accepted, so it is sent without a wait.
    this.#failedConnects++;
    if (young < 0 || old < 0) return;
    if (young <= old) this.#youngMargin = wider(this.#youngMargin);
    else this.#oldMargin = wider(this.#oldMargin);
  }

  /** Handles a response with status 429. */
  limited(now: number, retryAfterMs: number | undefined): void {
    this.#failedConnects++;
    this.#notBefore = now + (retryAfterMs ?? this.#timings.rateLimitWaitMs);
  }

  /** Handles a failed connection, or a response such as 503. */
  refused(now: number, random: number, retryAfterMs = 0): void {
    this.#failedConnects++;
    this.#backOff(now, random, this.#failedConnects, retryAfterMs);
  }

  /**
   * Handles a connection that ended without a final message. If the previous connection had a final message,
   * the next connection does not wait.
   */
  cut(now: number, random: number): void {
    const { minChunkMs } = this.#timings;
    this.#chunk = Math.max(minChunkMs, floorTo(MINUTE, this.#chunk / 2));
    this.#backOff(now, random, this.#failedConnects);
    this.#failedConnects++;
  }

  /**
   * Handles the final message of a connection. Returns whether the received activities can be delivered. If
   * not, the whole range is requested again.
   */
  ended(
    range: Window,
    end: ReplayEnd,
    { activities, bytes }: Pick<Received, 'activities' | 'bytes'>,
    now: number,
    random: number,
  ): boolean {
    const { mismatches, failures, maxChunkMs } = this.#timings;
    this.#bytesPerMs = bytes / (range.to - range.from);
    const before = this.#take(range);
    const lacking = undeliveredOf(range, end);
    const whole = subtractRanges(range, lacking);
    const failed = lacking.map(part => ({ ...before, ...part, failures: before.failures + 1 }));

    // The connection had a final message. From here on, `mismatches` and `failures` of each range limit its
    // retries.
    this.#failedConnects = 0;
    const miscounted = end.activityCount !== undefined && end.activityCount !== activities;
    if (miscounted && before.mismatches + 1 < mismatches) {
      this.#keepOpen([{ ...before, ...range, mismatches: before.mismatches + 1 }]);
      this.#backOff(now, random, before.mismatches + 1);
      return false;
    }
    const givenUp = failed.filter(part => part.failures >= failures);
    this.#gap(givenUp, 'failed');
    if (miscounted) this.#gap(whole, 'unverified');
    const handedOn = whole.length > 0 || givenUp.length > 0;
    this.#keepOpen(
      failed
        .filter(part => part.failures < failures)
        .map(part => ({ ...part, partial: part.partial || handedOn })),
    );
    if (whole.length === 0) this.#backOff(now, random, before.failures + 1);
    else {
      this.#notBefore = 0;
      if (end.outcome === 'completed' && !miscounted)
        this.#chunk = Math.min(maxChunkMs, 2 * this.#chunk);
    }
    this.#keepWithinDisk();
    return handedOn;
  }

  /**
   * Estimates the remaining duration of the replay in milliseconds, if all connections complete. The estimate
   * includes waits for the connection limit and for minutes that are too recent. Returns `undefined` if the
   * simulation would take too many steps.
   *
   * @param pace the milliseconds that a connection takes for each millisecond of its range
   * @param connects the times of the connections that count towards the connection limit, in ascending order
   */
  leftMs(
    now: number,
    serviceNow: number,
    pace: number,
    connects: readonly number[] = [],
  ): number | undefined {
    const copy = new ReplayMachine(this.state, this.#options);
    const connected = [...connects];
    copy.#youngMargin = this.#youngMargin;
    copy.#oldMargin = this.#oldMargin;
    let ms = Math.max(0, this.#notBefore - now);
    for (let step = 0; step < MAX_STEPS; step++) {
      const action = copy.next(now + ms, serviceNow + ms, connected);
      if (action.do === 'done') return ms;
      if (action.do === 'wait') ms += action.ms;
      if (action.do !== 'connect') continue;
      const { range } = action;
      const length = range.to - range.from;
      connected.push(now + ms);
      ms += pace * length;
      const bytes = this.#bytesPerMs * length;
      copy.ended(range, COMPLETED, { activities: 0, bytes }, now + ms, 0);
    }
    return undefined;
  }

  #backOff(now: number, random: number, failures: number, minMs = 0): void {
    const { firstWaitMs: firstMs, maxWaitMs: maxMs } = this.#timings;
    const waitMs = failures === 0 ? 0 : backoffMs(failures, { firstMs, maxMs, random });
    this.#notBefore = now + Math.max(minMs, waitMs);
  }

  #keepWithinDisk(): void {
    const { minChunkMs } = this.#timings;
    const { maxRangeBytes = Number.POSITIVE_INFINITY } = this.#options;
    const longest = floorTo(MINUTE, maxRangeBytes / this.#bytesPerMs);
    if (longest < this.#chunk) this.#chunk = Math.max(minChunkMs, longest);
  }

  #expire(serviceNow: number): void {
    const edge = this.#oldestAt(serviceNow) + this.#oldMargin;
    const gone = this.#open.flatMap(range => overlap(range, { from: -Infinity, to: edge }) ?? []);
    if (gone.length === 0) return;
    this.#open = this.#open.flatMap(range => cutOut(range, gone));
    this.#gap(gone, 'expired');
  }

  /**
   * Returns the oldest minute that the service should have by its clock. Ignores `#oldMargin`, which 406
   * responses have increased.
   */
  #oldestAt(serviceNow: number): number {
    return floorTo(MINUTE, serviceNow - this.#timings.oldestMs);
  }

  /** Returns the range to request while the service's clock is unknown. The response will show that clock. */
  #firstRange(): Window {
    const { from, to } = this.#open.toSorted((a, b) => a.from - b.from)[0] as OpenRange;
    return { from, to: Math.min(to, from + this.#chunk) };
  }

  /**
   * Returns the minutes to request at `now`, a time of the service's clock. If none are available yet,
   * returns the time at which the next minutes become available.
   */
  #rangeAt(now: number): Window | number {
    const { youngestFromMs, youngestToMs, firstChunkMs } = this.#timings;
    const youngest = floorTo(MINUTE, now - youngestToMs - this.#youngMargin);
    const asked = this.#open.map(range => {
      const full = Math.min(range.to, range.from + this.#chunk);
      // Waits until the requested range can reach at least to `minTo`. Requesting a few recent minutes at a
      // time would use up the allowed connections.
      const minTo = Math.min(full, range.from + firstChunkMs);
      const at = Math.max(range.from + youngestFromMs, minTo + youngestToMs) + this.#youngMargin;
      return { from: range.from, to: Math.min(full, Math.max(youngest, minTo)), at, range };
    });
    // Ranges with fewer retries come first, so that a range that keeps failing does not delay the rest.
    const [best] = asked
      .filter(({ at }) => at <= now)
      .sort((a, b) => retriesOf(a.range) - retriesOf(b.range) || a.from - b.from);
    if (best !== undefined) return { from: best.from, to: best.to };
    return Math.min(...asked.map(({ at }) => at));
  }

  /**
   * Removes `range` from `#open`, the ranges that are not confirmed yet. Returns the removed range with the
   * counters of the open range that contained it.
   */
  #take(range: Window): OpenRange {
    const found = this.#open.find(open => open.from <= range.from && range.to <= open.to);
    const { mismatches = 0, failures = 0, partial = false } = found ?? {};
    this.#open = this.#open.flatMap(open => (open === found ? cutOut(open, [range]) : open));
    return { ...range, mismatches, failures, partial };
  }

  #keepOpen(ranges: readonly OpenRange[]): void {
    this.#open = mergeRanges(
      [...this.#open, ...ranges],
      (a, b) =>
        a.mismatches === b.mismatches && a.failures === b.failures && a.partial === b.partial,
    );
  }

  #gap(parts: readonly Window[], reason: GapReason): void {
    const gaps = parts.map(({ from, to }) => ({ from, to, reason }));
    this.#gaps = mergeRanges([...this.#gaps, ...gaps], (a, b) => a.reason === b.reason);
  }
}

const COMPLETED: ReplayEnd = {
  outcome: 'completed',
  activityCount: undefined,
  minutesFailed: [],
  unprocessedRange: undefined,
};

function undeliveredOf(range: Window, end: ReplayEnd): Window[] {
  const { outcome, minutesFailed, unprocessedRange } = end;
  if (outcome === 'completed') return [];
  const told =
    outcome === 'failed'
      ? [unprocessedRange].filter(part => part !== undefined)
      : minutesFailed.map(at => ({ from: at, to: at + 1 }));
  const parts = told.flatMap(part => overlap(range, wholeMinutes(part)) ?? []);
  // The service reports a failure, but does not say which minutes failed, so the whole range counts as
  // failed.
  if (parts.length === 0) return [range];
  return mergeRanges(parts, () => true).map(({ from, to }) => ({ from, to }));
}

function wider(margin: number): number {
  return Math.min(MAX_MARGIN, Math.max(MINUTE, 2 * margin));
}

function cutOut(range: OpenRange, parts: readonly Window[]): OpenRange[] {
  return subtractRanges(range, parts).map(part => ({ ...range, ...part }));
}

function retriesOf({ mismatches, failures }: OpenRange): number {
  return mismatches + failures;
}

/**
 * The maximum time that a request takes to arrive at the service, in milliseconds. The service counts a
 * connection from the arrival of its request, so a connection may count for this much longer.
 */
const MAX_TRANSIT_MS = SECOND;

function nextConnectAt(connects: readonly number[], rates: readonly Rate[], now: number): number {
  const free = rates.map(({ requests, perMs }) => {
    // A connection in the future means that the clock was set back. Such connections are ignored.
    const recent = connects.filter(at => at > now - perMs - MAX_TRANSIT_MS && at <= now);
    return recent.length < requests
      ? now
      : (recent[recent.length - requests] as number) + perMs + MAX_TRANSIT_MS;
  });
  return Math.max(now, ...free);
}
