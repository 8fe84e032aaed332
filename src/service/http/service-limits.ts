import { type OptionTable, oneOf, orGroup, special } from '../../base/check.js';
import { DAY, FIRST_POST, HOUR, MINUTE, SECOND, SEGMENT } from '../../base/time.js';

// This file has the values of all limits of the service, and the option that changes them. `quotas.ts` counts
// requests towards the rates.

/** A number of requests in any `perMs` milliseconds, or in each UTC day. */
export interface Rate {
  /** The number of requests; `Infinity` for no limit. */
  readonly requests: number;
  readonly perMs: number;
  /** Whether requests are counted by UTC day, instead of in a sliding window. */
  readonly byDay?: boolean | undefined;
}

/** The limits of the real service. */
const STRICT = {
  queryCharacters: 2048,
  /**
   * The maximum number of phrases and proximity operators in a query. With more, a query is "too complex to
   * process".
   */
  queryPhrases: 100,
  maxResultsMin: 10,
  maxResultsMax: 500,
  maxResultsDefault: 100,
  /** The maximum time span of one response of search or counts. */
  responseSpanMs: 31 * DAY,
  thirtyDaySpanMs: 31 * DAY,
  /** Requests for posts and for counts share this rate. */
  searchRate: rate(20, SECOND),
  /** The documentation says that the contract sets this rate, so by default there is no limit. */
  searchPerMinuteRate: rate(Number.POSITIVE_INFINITY, MINUTE),
  /** The earliest time that can be searched, in epoch milliseconds. */
  searchEarliest: FIRST_POST,
  /** The time from the creation of a post until it can be found. */
  searchDelayMs: 30 * SECOND,
  jobsPerDayRate: rate(60, DAY, { byDay: true }),
  jobsPerHourRate: rate(30, HOUR),
  jobsEstimating: 2,
  jobsRunning: 2,
  rulesPerJob: 1000,
  /** Requests for the status, the results and the list of jobs share this rate. */
  jobReadRate: rate(5, 5 * SECOND),
  jobRetentionMs: 15 * DAY,
  jobEstimateMin: 100,
  jobFileMs: SEGMENT,
  replayConnectRate: rate(5, 5 * MINUTE),
  replayReachMs: 5 * DAY,
  replayFromAgeMs: 31 * MINUTE,
  replayToAgeMs: 30 * MINUTE,
  ruleChangeBytes: 1_000_000,
  /** Adding, deleting and listing rules share this rate. */
  ruleChangeRate: rate(5, 5 * SECOND),
  ruleReadBytes: 5_000_000,
  /** All requests about rules share this rate. */
  ruleReadRate: rate(60, MINUTE),
  complianceConnectRate: rate(10, 60 * SECOND),
  /** The minimum read timeout that clients should have. Heartbeats are more frequent. */
  streamReadTimeoutMs: 30 * SECOND,
  usageRate: rate(2, MINUTE),
  usageHistoryMonths: 12,
  /** All applications share this rate. */
  requestTokenRate: rate(60, MINUTE),
  /** All users share this rate. */
  signInRate: rate(20, MINUTE),
  accessTokenRate: rate(60, MINUTE),
  engagementRate: rate(60, MINUTE),
  engagementIds: 250,
  engagementGroupings: 3,
  /** How long a request token and its verifier are valid, in milliseconds. */
  requestTokenMs: 15 * MINUTE,
  /** The maximum difference between the timestamp of a signed request and the current time, in milliseconds. */
  signedWithinMs: 5 * MINUTE,
};

function rate(requests: number, perMs: number, by?: Pick<Rate, 'byDay'>): Rate {
  return { requests, perMs, ...by };
}

/** All limits of the service. Durations are in milliseconds. */
export type Limits = Readonly<typeof STRICT>;

const RELAXED: Limits = { ...STRICT, ...lifted(STRICT) };

/**
 * The option `limits`. `strict` has the limits of the real service. `relaxed` has the same limits, except
 * that no rate is limited. An object changes some of the limits of the real service.
 */
export type LimitsOption = 'strict' | 'relaxed' | Partial<Limits>;

const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0;

const EACH_LIMIT = Object.fromEntries(
  Object.entries(STRICT).map(([name, limit]) => [
    name,
    isRate(limit)
      ? special('a rate', 'a rate: { requests, perMs }', isWorkingRate, limit)
      : special('a limit', 'a number, 0 or more', isAmount, limit),
  ]),
) as unknown as OptionTable<Partial<Limits>>;

/** The option `limits`. Limits that are not given have the values of the real service. */
export const LIMITS_OPTION = orGroup(
  oneOf('strict (default), or relaxed: no rate limits', ['strict', 'relaxed']),
  EACH_LIMIT,
);

export function limitsOf(option: LimitsOption): Limits {
  if (option === 'strict') return STRICT;
  return option === 'relaxed' ? RELAXED : { ...STRICT, ...option };
}

/**
 * For each family of requests, the rates to which a client limits itself. Each entry starts with the name of
 * a rate. A second string, such as `change`, means that the rate applies only to requests of that kind.
 */
const CLIENT_RATES = {
  search: [['searchRate']],
  jobReads: [['jobReadRate']],
  jobCreation: [['jobsPerHourRate'], ['jobsPerDayRate']],
  replay: [['replayConnectRate']],
  compliance: [['complianceConnectRate']],
  replayRules: [['ruleChangeRate', 'change'], ['ruleReadRate']],
  usage: [['usageRate']],
} as const satisfies Readonly<Record<string, readonly (readonly [keyof Limits, string?])[]>>;

/**
 * A rate by which a client limits its requests. `kind` is the same as in the option `limits` of `account()`.
 */
export interface ClientRate {
  readonly requests: number;
  readonly perMs: number;
  readonly kind?: string | undefined;
}

/**
 * The rates that the service has relaxed, by family of requests. Has the form of the option `limits` of
 * `account()`.
 */
export type ClientLimits = {
  readonly [Family in keyof typeof CLIENT_RATES]?: readonly ClientRate[];
};

/**
 * Returns the rates of each family of requests that has a more relaxed rate than in the real service. Omits
 * infinite rates. Omits a family if any of its rates is stricter, because clients get a 429 if they exceed
 * it.
 */
export function clientLimits(limits: Limits): ClientLimits {
  const told = Object.entries(CLIENT_RATES).flatMap(([family, names]) => {
    const rates = names.map(([name, kind]) => ({ ...limits[name], kind, usual: STRICT[name] }));
    const isRelaxed = rates.some(rate => perMs(rate) > perMs(rate.usual));
    if (!isRelaxed || rates.some(rate => perMs(rate) < perMs(rate.usual))) return [];
    const finite = rates.filter(({ requests }) => Number.isFinite(requests));
    return [[family, finite.map(({ requests, perMs, kind }) => ({ requests, perMs, kind }))]];
  });
  return Object.fromEntries(told) as ClientLimits;
}

export function isWithoutRates(limits: ClientLimits): boolean {
  return Object.keys(CLIENT_RATES).every(
    family => limits[family as keyof ClientLimits]?.length === 0,
  );
}

function perMs({ requests, perMs }: Rate): number {
  return requests / perMs;
}

function lifted(limits: Limits): Partial<Limits> {
  const rates = Object.entries(limits).flatMap(([name, limit]) =>
    isRate(limit) ? [[name, { ...limit, requests: Number.POSITIVE_INFINITY }]] : [],
  );
  return Object.fromEntries(rates) as Partial<Limits>;
}

function isRate(limit: unknown): limit is Rate {
  return typeof limit === 'object' && limit !== null;
}

function isWorkingRate(value: unknown): boolean {
  return isRate(value) && isAmount(value.requests) && isAmount(value.perMs) && value.perMs > 0;
}
