import type { Format } from '../activity/activity.js';
import { OptionError } from '../errors.js';
import type { Archive } from './archive/archive.js';
import type { Credentials } from './http/basic-auth.js';
import { type Limits, type LimitsOption, limitsOption } from './http/service-limits.js';
import type { Check } from './option-check.js';
import {
  USAGE_CHECKS,
  type UsageOptions,
  type UsageSettings,
  usageSettings,
} from './usage/usage-options.js';
import {
  OAUTH_CHECKS,
  type OAuthOptions,
  type OAuthSettings,
  oauthSettings,
} from './users/oauth-options.js';

export interface ServiceOptions extends OAuthOptions, UsageOptions {
  /**
   * A folder of 10-minute gzip files as jobs deliver them, or an archive of your own making.
   * Without one the service makes up posts for any minute since 21 March 2006.
   */
  readonly archive?: string | Archive | undefined;
  /** Of the made-up posts, and of what signs `next`: the same seed, the same answers. */
  readonly seed?: string | number | undefined;
  /** Made-up posts in an average minute. */
  readonly postsPerMinute?: number | undefined;
  /** Of the posts: `original` (the default) or `activity_streams`. A folder has its own. */
  readonly format?: Format | undefined;
  /** `strict`, the default, keeps every limit of service.md section 8; `relaxed` lifts the rates. */
  readonly limits?: LimitsOption | undefined;
  /** The contract's own limit on search and counts requests in any minute. */
  readonly perMinuteLimit?: number | undefined;
  /** The account's name. */
  readonly account?: string | undefined;
  /** Of the search endpoints. */
  readonly label?: string | undefined;
  /** Of replay, whatever its type, and of its rules. */
  readonly streamLabel?: string | undefined;
  /** Of the compliance stream. */
  readonly complianceLabel?: string | undefined;
  /** Name of the data publisher, of which there is one. */
  readonly publisher?: string | undefined;
  readonly email?: string | undefined;
  readonly password?: string | undefined;
  /** Whether a page continued by `next` begins with the last post of the page before. */
  readonly duplicatesAtPageEdges?: boolean | undefined;
  /** Order of the buckets, within and across the pages of counts. */
  readonly countsOrder?: 'ascending' | 'descending' | undefined;
  /** Milliseconds after which a page of counts times out (service.md 4.2 rule 2). */
  readonly countsTimeoutMs?: number | undefined;
  /**
   * Milliseconds on the service's clock that a job stays in each of its states at least, all the same
   * or one by one.
   */
  readonly jobDwellMs?: number | Partial<JobDwell> | undefined;
  /** Price of a job day in quotes; without one, the subscription includes the cost. */
  readonly jobDollarsPerDay?: number | undefined;
  /** Whether a data file ends in an `info` line; it does unless this is `false`. */
  readonly jobInfoLine?: boolean | undefined;
  /** How long the URLs of a listing are good; until the job expires where this is absent. */
  readonly fileUrlMs?: number | undefined;
  /** Port of the second origin, from which data files come; any free one where absent. */
  readonly filesPort?: number | undefined;
  /** Milliseconds of real time without a message after which a stream sends a heartbeat. */
  readonly heartbeatMs?: number | undefined;
  /**
   * Bytes, before compression, that may wait for a slow consumer of a stream; with more the service
   * closes the connection.
   */
  readonly streamBacklogBytes?: number | undefined;
  /**
   * Posts that a replay sends in a second of real time, whether or not the consumer keeps up. Without
   * it the service waits for the consumer.
   */
  readonly replayPostsPerSecond?: number | undefined;
  /**
   * Compliance events per post of the archive, 0 (the default) to 1. What is deleted by them can be
   * counted still, but is found and delivered no more.
   */
  readonly complianceRate?: number | undefined;
  /**
   * Where jobs and their files, the rules of the replay stream, usage and what users have granted are
   * kept for the next start of the service to go on from. Without one, all is gone when it stops.
   */
  readonly stateFolder?: string | undefined;
  /** Whether the control path answers; it does unless this is `false`. */
  readonly control?: boolean | undefined;
  /** Told of each error that was the service's own fault; the client got a 500. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The states that a job leaves by itself. */
export interface JobDwell {
  readonly opened: number;
  readonly estimating: number;
  readonly accepted: number;
  readonly running: number;
  readonly completed: number;
}

/** The options, checked and complete. */
export interface Settings extends Credentials, OAuthSettings, UsageSettings {
  readonly archive: string | Archive | undefined;
  readonly seed: string | number;
  readonly postsPerMinute: number | undefined;
  readonly format: Format | undefined;
  readonly limits: Limits;
  readonly account: string;
  readonly label: string;
  readonly streamLabel: string;
  readonly complianceLabel: string;
  readonly publisher: string;
  readonly heartbeatMs: number;
  readonly streamBacklogBytes: number;
  readonly replayPostsPerSecond: number;
  readonly complianceRate: number;
  readonly jobDwellMs: JobDwell;
  readonly jobDollarsPerDay: number | undefined;
  readonly jobInfoLine: boolean;
  readonly fileUrlMs: number;
  readonly filesPort: number;
  readonly stateFolder: string | undefined;
  readonly duplicatesAtPageEdges: boolean;
  readonly countsOrder: 'ascending' | 'descending';
  readonly countsTimeoutMs: number;
  readonly control: boolean;
  readonly onError: (error: unknown) => void;
}

export function checkServiceOptions(options: ServiceOptions): Settings {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(CHECKS, name))
      throw new OptionError(name, `There is no service option \`${name}\``);
  for (const [name, [isGood, expected]] of Object.entries(CHECKS)) {
    const value = options[name as keyof ServiceOptions];
    if (value !== undefined && !isGood(value))
      // A secret is never shown, not even a bad one.
      throw new OptionError(
        name,
        `Expected \`${name}\` to be ${expected}${/password|secret/i.test(name) ? '' : `, got ${shown(value)}`}`,
      );
  }
  const limits = limitsOption(options.limits);
  const { perMinuteLimit } = options;
  const password = options.password ?? 'local-service';
  return {
    archive: options.archive,
    seed: options.seed ?? 'millrace',
    postsPerMinute: options.postsPerMinute,
    format: options.format,
    limits:
      perMinuteLimit === undefined
        ? limits
        : {
            ...limits,
            searchPerMinuteRate: { ...limits.searchPerMinuteRate, requests: perMinuteLimit },
          },
    account: options.account ?? 'local',
    label: options.label ?? 'dev',
    streamLabel: options.streamLabel ?? 'replay',
    complianceLabel: options.complianceLabel ?? 'compliance',
    publisher: options.publisher ?? 'twitter',
    jobDwellMs: dwellOf(options.jobDwellMs),
    jobDollarsPerDay: options.jobDollarsPerDay,
    jobInfoLine: options.jobInfoLine ?? true,
    fileUrlMs: options.fileUrlMs ?? Number.POSITIVE_INFINITY,
    filesPort: options.filesPort ?? 0,
    heartbeatMs: options.heartbeatMs ?? 10_000,
    streamBacklogBytes: options.streamBacklogBytes ?? 8 * 1024 * 1024,
    replayPostsPerSecond: options.replayPostsPerSecond ?? Number.POSITIVE_INFINITY,
    complianceRate: options.complianceRate ?? 0,
    stateFolder: options.stateFolder,
    email: options.email ?? 'dev@example.com',
    password,
    ...oauthSettings(options, password),
    ...usageSettings(options),
    duplicatesAtPageEdges: options.duplicatesAtPageEdges ?? false,
    countsOrder: options.countsOrder ?? 'ascending',
    countsTimeoutMs: options.countsTimeoutMs ?? 10_000,
    control: options.control ?? true,
    onError: options.onError ?? (() => {}),
  };
}

const DWELL: JobDwell = {
  opened: 500,
  estimating: 1_000,
  accepted: 500,
  running: 2_000,
  completed: 500,
};

function dwellOf(option: ServiceOptions['jobDwellMs']): JobDwell {
  const all = Object.keys(DWELL);
  if (typeof option === 'number')
    return Object.fromEntries(all.map(state => [state, option])) as unknown as JobDwell;
  return { ...DWELL, ...option };
}

const boolean: Check = [value => typeof value === 'boolean', 'true or false'];
const name: Check = [
  value => typeof value === 'string' && value !== '' && !value.includes('/'),
  'text without a slash',
];
const oneOf = (...values: readonly string[]): Check => [
  value => values.includes(value as string),
  values.map(value => `'${value}'`).join(' or '),
];
const isPositive = (value: unknown) => typeof value === 'number' && value > 0;

const isLength = (value: unknown) => typeof value === 'number' && value >= 0;
const isDwell = (value: unknown) =>
  isLength(value) ||
  (typeof value === 'object' &&
    value !== null &&
    Object.entries(value).every(([state, ms]) => Object.hasOwn(DWELL, state) && isLength(ms)));

const CHECKS: Record<keyof ServiceOptions, Check> = {
  ...OAUTH_CHECKS,
  ...USAGE_CHECKS,
  archive: [
    value =>
      (typeof value === 'string' && value !== '') ||
      (typeof value === 'object' && value !== null && 'search' in value),
    'a folder or an archive',
  ],
  seed: [value => typeof value === 'string' || Number.isFinite(value), 'text or a number'],
  postsPerMinute: [value => isPositive(value) && Number.isFinite(value), 'a number greater than 0'],
  format: oneOf('original', 'activity_streams'),
  limits: [() => true, ''], // has a check of its own
  perMinuteLimit: [
    value => Number.isSafeInteger(value) && isPositive(value),
    'an integer greater than 0',
  ],
  account: name,
  label: name,
  streamLabel: name,
  complianceLabel: name,
  publisher: name,
  heartbeatMs: [
    value => isPositive(value) && Number(value) <= 2 ** 31 - 1,
    'a number of milliseconds greater than 0',
  ],
  streamBacklogBytes: [
    value => Number.isSafeInteger(value) && isPositive(value),
    'a number of bytes greater than 0',
  ],
  replayPostsPerSecond: [isPositive, 'a number of posts greater than 0'],
  complianceRate: [value => isLength(value) && Number(value) <= 1, 'a number from 0 to 1'],
  jobDwellMs: [isDwell, `milliseconds, 0 or more, or those of ${Object.keys(DWELL).join(', ')}`],
  jobDollarsPerDay: [
    value => isLength(value) && Number.isFinite(value),
    'a number of dollars, 0 or more',
  ],
  jobInfoLine: boolean,
  fileUrlMs: [isPositive, 'a number of milliseconds greater than 0'],
  filesPort: [
    value => Number.isInteger(value) && isLength(value) && Number(value) <= 65_535,
    '0 to 65535',
  ],
  stateFolder: [value => typeof value === 'string' && value !== '', 'a folder'],
  email: [
    value => typeof value === 'string' && value !== '' && !value.includes(':'),
    'text without a colon',
  ],
  password: [value => typeof value === 'string' && value !== '', 'text'],
  duplicatesAtPageEdges: boolean,
  countsOrder: oneOf('ascending', 'descending'),
  countsTimeoutMs: [
    value => typeof value === 'number' && value >= 0,
    'a number of milliseconds, 0 or more',
  ],
  control: boolean,
  onError: [value => typeof value === 'function', 'a function'],
};

function shown(value: unknown): string {
  return typeof value === 'object' ? 'something else' : JSON.stringify(value ?? String(value));
}
