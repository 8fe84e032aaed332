import type { Clock } from '../clock.js';
import type { Endpoint } from './endpoints.js';
import { RateWindow } from './rate-window.js';
import type { Limits, Rate } from './service-limits.js';

/** The limits that are rates. */
export type RateName = {
  [Name in keyof Limits]: Limits[Name] extends Rate ? Name : never;
}[keyof Limits];

/** A rate, and how many requests are left. */
export interface Quota {
  readonly name: RateName;
  /** The name of what is counted. */
  readonly label: string;
  readonly rate: Rate;
  /** The number of requests that still fit; `Infinity` without a limit. */
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

/** The rates of a service, and how many requests are left of each. */
export class Quotas {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #windows = new Map<RateName, RateWindow>();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Creates the window that counts the requests of a rate, which replaces an earlier one. */
  window(name: RateName): RateWindow {
    const window = new RateWindow(this.#limits[name], this.#clock);
    this.#windows.set(name, window);
    return window;
  }

  /** The remaining requests of each rate, or of the rates that count the requests of a family. */
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
