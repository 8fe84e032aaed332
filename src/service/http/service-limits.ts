import { type OptionTable, oneOf, orGroup, special } from '../../check.js';
import { DAY, FIRST_POST, HOUR, MINUTE, SECOND, SEGMENT } from '../../time.js';

// The values of all limits of the service, and the option that changes them. `quotas` counts requests against the rates.

/** A number of requests in any `perMs` milliseconds, or in each UTC day. */
export interface Rate {
  /** `Infinity` for no limit. */
  readonly requests: number;
  readonly perMs: number;
  /** Counted by UTC day instead of back from now. */
  readonly byDay?: boolean | undefined;
}

/** Every limit of the service. Durations are milliseconds. */
export interface Limits {
  readonly queryCharacters: number;
  /** The maximum number of phrases and proximities in a query; more are "too complex to process". */
  readonly queryPhrases: number;
  readonly maxResultsMin: number;
  readonly maxResultsMax: number;
  readonly maxResultsDefault: number;
  /** The maximum time that one response of search or counts covers. */
  readonly responseSpanMs: number;
  readonly thirtyDaySpanMs: number;
  /** Over data and counts together. */
  readonly searchRate: Rate;
  /** "Set by contract": none unless an option says so. */
  readonly searchPerMinuteRate: Rate;
  /** Epoch milliseconds. */
  readonly searchEarliest: number;
  /** The time from a post's creation until it can be found. */
  readonly searchDelayMs: number;
  readonly jobsPerDayRate: Rate;
  readonly jobsPerHourRate: Rate;
  readonly jobsEstimating: number;
  readonly jobsRunning: number;
  readonly rulesPerJob: number;
  /** Over status, results and list together. */
  readonly jobReadRate: Rate;
  readonly jobRetentionMs: number;
  readonly jobEstimateMin: number;
  readonly jobFileMs: number;
  readonly replayConnectRate: Rate;
  readonly replayReachMs: number;
  readonly replayFromAgeMs: number;
  readonly replayToAgeMs: number;
  readonly ruleChangeBytes: number;
  /** Over add, delete and list together. */
  readonly ruleChangeRate: Rate;
  readonly ruleReadBytes: number;
  /** Over all requests for rules. */
  readonly ruleReadRate: Rate;
  readonly complianceConnectRate: Rate;
  /** The read timeout that clients should at least have; heartbeats are more frequent. */
  readonly streamReadTimeoutMs: number;
  readonly usageRate: Rate;
  readonly usageHistoryMonths: number;
  /** Over all applications. */
  readonly requestTokenRate: Rate;
  /** Over all users. */
  readonly signInRate: Rate;
  readonly accessTokenRate: Rate;
  readonly engagementRate: Rate;
  readonly engagementIds: number;
  readonly engagementGroupings: number;
  /** How long a request token and its verifier are valid. */
  readonly requestTokenMs: number;
  /** How far the timestamp of a signed request may be from now, before and after. */
  readonly signedWithinMs: number;
}

const STRICT: Limits = {
  queryCharacters: 2048,
  queryPhrases: 100,
  maxResultsMin: 10,
  maxResultsMax: 500,
  maxResultsDefault: 100,
  responseSpanMs: 31 * DAY,
  thirtyDaySpanMs: 31 * DAY,
  searchRate: { requests: 20, perMs: SECOND },
  searchPerMinuteRate: { requests: Number.POSITIVE_INFINITY, perMs: MINUTE },
  searchEarliest: FIRST_POST,
  searchDelayMs: 30 * SECOND,
  jobsPerDayRate: { requests: 60, perMs: DAY, byDay: true },
  jobsPerHourRate: { requests: 30, perMs: HOUR },
  jobsEstimating: 2,
  jobsRunning: 2,
  rulesPerJob: 1000,
  jobReadRate: { requests: 5, perMs: 5 * SECOND },
  jobRetentionMs: 15 * DAY,
  jobEstimateMin: 100,
  jobFileMs: SEGMENT,
  replayConnectRate: { requests: 5, perMs: 5 * MINUTE },
  replayReachMs: 5 * DAY,
  replayFromAgeMs: 31 * MINUTE,
  replayToAgeMs: 30 * MINUTE,
  ruleChangeBytes: 1_000_000,
  ruleChangeRate: { requests: 5, perMs: 5 * SECOND },
  ruleReadBytes: 5_000_000,
  ruleReadRate: { requests: 60, perMs: MINUTE },
  complianceConnectRate: { requests: 10, perMs: 60 * SECOND },
  streamReadTimeoutMs: 30 * SECOND,
  usageRate: { requests: 2, perMs: MINUTE },
  usageHistoryMonths: 12,
  requestTokenRate: { requests: 60, perMs: MINUTE },
  signInRate: { requests: 20, perMs: MINUTE },
  accessTokenRate: { requests: 60, perMs: MINUTE },
  engagementRate: { requests: 60, perMs: MINUTE },
  engagementIds: 250,
  engagementGroupings: 3,
  requestTokenMs: 15 * MINUTE,
  signedWithinMs: 5 * MINUTE,
};

/** The same limits without rates. */
const RELAXED: Limits = { ...STRICT, ...lifted(STRICT) };

/** The service's own limits, the same without its rates, or the service's own with some changed. */
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

/** The option `limits`. Limits that are left out are the service's own. */
export const LIMITS_OPTION = orGroup(
  oneOf('strict (default), or relaxed: no rate limits', ['strict', 'relaxed']),
  EACH_LIMIT,
);

/** The limits of a checked `limits`. */
export function limitsOf(option: LimitsOption): Limits {
  if (option === 'strict') return STRICT;
  return option === 'relaxed' ? RELAXED : { ...STRICT, ...option };
}

/** The rates that clients keep to, by family of calls, each with the kind of call that it counts if that is only one. */
const CLIENT_RATES = {
  search: [['searchRate']],
  jobReads: [['jobReadRate']],
  jobCreation: [['jobsPerHourRate'], ['jobsPerDayRate']],
  replay: [['replayConnectRate']],
  compliance: [['complianceConnectRate']],
  replayRules: [['ruleChangeRate', 'change'], ['ruleReadRate']],
  usage: [['usageRate']],
} as const satisfies Readonly<Record<string, readonly (readonly [keyof Limits, string?])[]>>;

/** A rate that a client keeps to; `kind` as in the option `limits` of `account()`. */
export interface ClientRate {
  readonly requests: number;
  readonly perMs: number;
  readonly kind?: string | undefined;
}

/** The rates of families of calls that the service has relaxed, in the form of the option `limits` of `account()`. */
export type ClientLimits = {
  readonly [Family in keyof typeof CLIENT_RATES]?: readonly ClientRate[];
};

/** The limits that a client is told of: rates that are more relaxed than those of the real service. It meets stricter ones as a 429. */
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

/** Whether no rate is left. */
export function isWithoutRates(limits: ClientLimits): boolean {
  return Object.keys(CLIENT_RATES).every(
    family => limits[family as keyof ClientLimits]?.length === 0,
  );
}

function perMs({ requests, perMs }: Rate): number {
  return requests / perMs;
}

function lifted(limits: Limits): Partial<Limits> {
  const rates = Object.entries(limits).filter(entry => isRate(entry[1]));
  return Object.fromEntries(
    rates.map(([name, rate]) => [name, { ...rate, requests: Number.POSITIVE_INFINITY }]),
  );
}

function isRate(limit: unknown): limit is Rate {
  return typeof limit === 'object' && limit !== null;
}

function isWorkingRate(value: unknown): boolean {
  return isRate(value) && isAmount(value.requests) && isAmount(value.perMs) && value.perMs > 0;
}
