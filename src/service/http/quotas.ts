import { DAY, floorTo, SECOND } from '../../base/time.js';
import type { Clock } from '../clock.js';
import { HttpProblem } from './http-problem.js';
import type { Endpoint } from './router.js';
import type { Limits, Rate } from './service-limits.js';

// This file counts requests towards each rate limit and refuses further requests with 429. The limits are in
// `service-limits.ts`. The client has a separate `rate-limits.ts`, which delays requests before they are
// sent.

/** The limits that are rates. */
export type RateName = {
  [Name in keyof Limits]: Limits[Name] extends Rate ? Name : never;
}[keyof Limits];

/** A rate, with the number of remaining requests. */
export interface Quota {
  /** What is counted, such as `search and counts`. */
  readonly label: string;
  readonly rate: Rate;
  /** The number of remaining requests; `Infinity` without a limit. */
  readonly left: number;
}

const RATES: Record<RateName, readonly [label: string, endpoints: readonly Endpoint[]]> = {
  searchRate: ['search and counts', ['search', 'counts']],
  searchPerMinuteRate: ['search and counts, by contract', ['search', 'counts']],
  jobsPerHourRate: ['new jobs', ['jobs']],
  jobsPerDayRate: ['new jobs', ['jobs']],
  jobReadRate: ['reads of jobs', ['jobs']],
  replayConnectRate: ['replay connections', ['replay']],
  ruleChangeRate: ['add, delete and list rules', ['rules']],
  ruleReadRate: ['rules, all requests', ['rules']],
  complianceConnectRate: ['compliance connections', ['compliance']],
  usageRate: ['usage reports', ['usage']],
  requestTokenRate: ['request tokens', ['oauth']],
  signInRate: ['sign-ins of users', ['oauth']],
  accessTokenRate: ['access tokens', ['oauth']],
  engagementRate: ['engagement totals', ['engagement']],
};

/** The rates of a service, with the number of remaining requests for each. */
export class Quotas {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #windows = new Map<RateName, RateWindow>();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Returns a new window, which counts requests towards the limit `name`. It replaces the previous window of
   * that limit in `left` and `reset`.
   */
  window(name: RateName): RateWindow {
    const window = new RateWindow(this.#limits[name], this.#clock);
    this.#windows.set(name, window);
    return window;
  }

  reset(): void {
    for (const window of this.#windows.values()) window.reset();
  }

  /**
   * Returns each rate with its number of remaining requests. With `endpoint`, returns only the rates that
   * limit this endpoint.
   */
  left(endpoint?: Endpoint): readonly Quota[] {
    return (Object.keys(RATES) as RateName[]).flatMap(name => {
      const [label, endpoints] = RATES[name];
      const window = this.#windows.get(name);
      const isAsked = endpoint === undefined || endpoints.includes(endpoint);
      return window && isAsked ? [{ label, rate: window.rate, left: window.left() }] : [];
    });
  }
}

/**
 * Counts requests towards one rate limit: the requests in a sliding window, or those since midnight UTC if
 * `rate.byDay` is set. Uses the service's clock.
 */
export class RateWindow {
  readonly rate: Rate;
  readonly #clock: Pick<Clock, 'now'>;
  /** The times of the requests in the current window, in epoch milliseconds, oldest first. */
  #times: number[] = [];

  constructor(rate: Rate, clock: Pick<Clock, 'now'>) {
    this.rate = rate;
    this.#clock = clock;
  }

  /** Returns the number of requests that are allowed now; `Infinity` without a limit. */
  left(): number {
    this.#forget(this.#clock.now());
    return Math.max(0, this.rate.requests - this.#times.length);
  }

  /** Returns the milliseconds until another request is allowed; 0 if it is allowed now. */
  wait(): number {
    const { requests, perMs, byDay } = this.rate;
    if (requests === Number.POSITIVE_INFINITY) return 0;
    const now = this.#clock.now();
    this.#forget(now);
    if (this.#times.length < requests) return 0;
    if (byDay) return floorTo(DAY, now) + DAY - now;
    const freed = this.#times[this.#times.length - requests];
    return freed === undefined ? perMs : freed + perMs - now;
  }

  reset(): void {
    this.#times = [];
  }

  count(at = this.#clock.now()): void {
    if (this.rate.requests !== Number.POSITIVE_INFINITY) this.#times.push(at);
  }

  /** Removes a request that was counted at this time, because it has failed. */
  uncount(at: number): void {
    const index = this.#times.indexOf(at);
    if (index !== -1) this.#times.splice(index, 1);
  }

  /**
   * Removes the times of requests that no longer count. Also removes times in the future, which occur if the
   * clock was set back.
   */
  #forget(now: number): void {
    const { perMs, byDay } = this.rate;
    const start = byDay ? floorTo(DAY, now) - 1 : now - perMs;
    this.#times = this.#times.filter(time => time > start && time <= now);
  }
}

/**
 * Counts a request in every window, and returns `undefined`. If a window is full, counts the request in none
 * and returns that window. If `count` is false, only checks the windows.
 */
export function admit(windows: readonly RateWindow[], count = true): RateWindow | undefined {
  const full = windows.find(window => window.wait() > 0);
  if (full === undefined && count) for (const window of windows) window.count();
  return full;
}

interface RateCheck {
  /**
   * Whether to count the request now. `false` if the caller counts the request later, after it has succeeded.
   */
  readonly count?: boolean | undefined;
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
}

/**
 * Counts a request in all windows or in none.
 *
 * @param message Creates the error message for an exceeded limit. Each family of endpoints has its own wording.
 * @throws HttpProblem 429 with `Retry-After` if a window is full.
 */
export function checkRate(
  windows: readonly RateWindow[],
  message: (full: RateWindow) => string,
  { count = true, headers }: RateCheck = {},
): void {
  const full = admit(windows, count);
  if (full === undefined) return;
  throw new HttpProblem(429, message(full), {
    ...headers?.(),
    // At least 1 s. If the clock has moved since the check, the wait may already be over.
    'Retry-After': String(Math.max(1, Math.ceil(full.wait() / SECOND))),
  });
}

/** Returns a message such as `Exceeded rate limit: 2 requests in 60 s for usage`. */
export function rateExceeded(what: string): (full: RateWindow) => string {
  return ({ rate: { requests, perMs, byDay } }) => {
    const span = byDay && perMs === DAY ? 'a UTC day' : `${perMs / SECOND} s`;
    return `Exceeded rate limit: ${requests} requests in ${span} ${what}`;
  };
}

export const connectionsExceeded = (): string =>
  'Your app has exceeded the limit on connection requests.';

export const requestsExceeded = (): string => 'Your app has exceeded the limit on API requests.';
