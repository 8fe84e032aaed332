import { type OptionTable, special } from '../base/check.js';
import { DAY, HOUR, MINUTE, SECOND } from '../base/time.js';

/** At most `requests` requests in any span of `perMs` milliseconds. */
export interface Rate {
  readonly requests: number;
  readonly perMs: number;
  /**
   * Counts only calls of this kind: `'change'` is add, delete and list of `replayRules`.
   * @default all calls of the family
   */
  readonly kind?: string | undefined;
}

/** The families of calls that share a limit. */
export type Family =
  | 'search'
  | 'jobReads'
  | 'jobCreation'
  | 'replay'
  | 'compliance'
  | 'replayRules'
  | 'usage'
  | 'signIn'
  | 'engagement';

/** The rates of each family of calls. */
export type Limits = Readonly<Record<Family, readonly Rate[]>>;

/** The rates that the service allows. */
export const LIMITS: Limits = {
  /** Search and counts together; the account adds what its contract allows a minute. */
  search: [{ requests: 20, perMs: SECOND }],
  /** Status, results and list together. */
  jobReads: [{ requests: 5, perMs: 5 * SECOND }],
  /** The service counts 60 in a UTC day; any 24 hours is stricter. */
  jobCreation: [
    { requests: 30, perMs: HOUR },
    { requests: 60, perMs: DAY },
  ],
  replay: [{ requests: 5, perMs: 5 * MINUTE }],
  compliance: [{ requests: 10, perMs: MINUTE }],
  /** `change` is add, delete and list; get by id counts every rules request. */
  replayRules: [
    { requests: 5, perMs: 5 * SECOND, kind: 'change' },
    { requests: 60, perMs: MINUTE },
  ],
  usage: [{ requests: 2, perMs: MINUTE }],
  /** Each step has an unpublished limit: only `Retry-After` reveals it. */
  signIn: [],
  /** The account adds what its contract allows a minute. */
  engagement: [],
};

/** Makes something of the rates of each family. */
export function ofEachFamily<T>(
  limits: Limits,
  make: (rates: readonly Rate[]) => T,
): Record<Family, T> {
  const families = Object.entries(limits) as [Family, readonly Rate[]][];
  return Object.fromEntries(families.map(([family, rates]) => [family, make(rates)])) as Record<
    Family,
    T
  >;
}

/** No rate at all, as a local service with relaxed limits allows. */
export const NO_LIMITS: Limits = ofEachFamily(LIMITS, () => []);

/** For each family of calls, the rates to keep in place of the service's. */
export const RATE_LIMITS: OptionTable<Partial<Limits>> = ofEachFamily(LIMITS, () =>
  special<readonly Rate[]>(
    'rates to keep',
    'a list of rates such as { requests: 10, perMs: 1000 }, of at least 1 request',
    value => Array.isArray(value) && value.every(isRate),
  ),
);

function isRate(value: unknown): boolean {
  const { requests, perMs } = Object(value) as Partial<Rate>;
  return Number.isSafeInteger(requests) && Number(requests) >= 1 && Number(perMs) > 0;
}
