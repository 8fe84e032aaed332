import type { Clock } from '../clock.js';
import type { Endpoint } from './endpoints.js';
import { RateWindow } from './rate-window.js';
import type { Limits, Rate } from './service-limits.js';

/** The limits that are rates. */
export type RateName = {
  [Name in keyof Limits]: Limits[Name] extends Rate ? Name : never;
}[keyof Limits];

/** One rate, and what is left of it now. */
export interface Quota {
  readonly name: RateName;
  /** What is counted. */
  readonly label: string;
  readonly rate: Rate;
  /** Requests that still fit; `Infinity` without a limit. */
  readonly left: number;
}

/** The label of each rate, and the families whose requests it counts. */
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

/** The rates of a service, so that what is left of them can be shown. */
export class Quotas {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #windows = new Map<RateName, RateWindow>();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** A new window that counts the requests of a rate. Replaces an earlier one. */
  window(name: RateName): RateWindow {
    const window = new RateWindow(this.#limits[name], this.#clock);
    this.#windows.set(name, window);
    return window;
  }

  /** What is left of each rate, or of those that count the requests of a family. */
  left(endpoint?: Endpoint): readonly Quota[] {
    const quotas: Quota[] = [];
    for (const name of Object.keys(RATES) as RateName[]) {
      const [label, endpoints] = RATES[name];
      const window = this.#windows.get(name);
      if (window !== undefined && (endpoint === undefined || endpoints.includes(endpoint)))
        quotas.push({ name, label, rate: window.rate, left: window.left() });
    }
    return quotas;
  }
}
