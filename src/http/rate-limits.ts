import { OptionError } from '../errors.js';
import { DAY, HOUR, MINUTE, SECOND } from '../time.js';

/** At most `requests` starts in any span of `per` milliseconds. */
export interface Rate {
  readonly requests: number;
  readonly per: number;
  /** Counts only calls of this kind; all calls of the family when absent. */
  readonly kind?: string | undefined;
}

/** The families of calls that share a limit (service.md section 8). */
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

export type Limits = Readonly<Record<Family, readonly Rate[]>>;

/** Every rate of service.md section 8. */
export const LIMITS: Limits = {
  /** Data and counts together; what the contract allows a minute comes with the account. */
  search: [{ requests: 20, per: SECOND }],
  /** Status, results and list together. */
  jobReads: [{ requests: 5, per: 5 * SECOND }],
  /** The service counts 60 in a UTC day; any 24 hours is the stricter reading. */
  jobCreation: [
    { requests: 30, per: HOUR },
    { requests: 60, per: DAY },
  ],
  replay: [{ requests: 5, per: 5 * MINUTE }],
  compliance: [{ requests: 10, per: MINUTE }],
  /** `change` is add, delete and list; get by id counts every rules request. */
  replayRules: [
    { requests: 5, per: 5 * SECOND, kind: 'change' },
    { requests: 60, per: MINUTE },
  ],
  usage: [{ requests: 2, per: MINUTE }],
  /** Each step is limited, but nothing says how: `Retry-After` tells (service.md 5 rule 6). */
  signIn: [],
  /** What the contract allows a minute comes with the account. */
  engagement: [],
};

/** The limits with some replaced, checked. */
export function checkLimits(options: Partial<Limits> = {}): Limits {
  for (const [family, rates] of Object.entries(options)) {
    if (!Object.hasOwn(LIMITS, family))
      throw new OptionError(
        'limits',
        `\`limits\` has no family ${JSON.stringify(family)}: there are ${Object.keys(LIMITS).join(', ')}`,
      );
    const valid = (rates ?? []).every(
      ({ requests, per }) => Number.isSafeInteger(requests) && requests >= 1 && per > 0,
    );
    if (!valid)
      throw new OptionError(
        'limits',
        `Expected \`limits.${family}\` to be rates of at least 1 request per some milliseconds`,
      );
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, rates]) => rates));
  return { ...LIMITS, ...given };
}
