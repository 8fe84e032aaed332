import path from 'node:path';
import {
  type Checked,
  checkOptions,
  flag,
  func,
  milliseconds,
  type OptionTable,
  oneOf,
  secret,
  special,
  text,
  whole,
} from '../check.js';
import type { Archive } from './archive/archive.js';
import { LIMITS_OPTION, type Limits, type LimitsOption, limitsOf } from './http/service-limits.js';
import { dwellOf, JOB_DWELL, type JobDwell } from './jobs/job-dwell.js';
import { withFlag } from './option-flags.js';
import { SAMPLE_OPTIONS, type SampleOptions } from './sample/sample-options.js';
import { USAGE_OPTIONS, type UsageOptions } from './usage/usage-options.js';
import { OAUTH_OPTIONS, type OAuthOptions } from './users/oauth-options.js';

/**
 * The archive, account, limits and behaviour of a local service. Most options also exist on the
 * command line.
 */
export interface ServiceOptions extends SampleOptions, OAuthOptions, UsageOptions {
  /**
   * A folder of 10-minute gzip files as jobs deliver them, or of other files with one post a line:
   * `.json`, `.jsonl` or `.ndjson`, also with `.gz` or, since Node 22.15, `.zst`. Or an `Archive`.
   * By default the service generates posts for any minute since 21 March 2006.
   */
  readonly archive?: string | Archive | undefined;
  /** `strict`, the default, keeps every limit of the service; `relaxed` lifts the rates. */
  readonly limits?: LimitsOption | undefined;
  /** The contract's limit on search and counts requests in any minute. By default there is none. */
  readonly perMinuteLimit?: number | undefined;
  /** The account's name. @default 'local' */
  readonly account?: string | undefined;
  /** Label of the search endpoints. @default 'dev' */
  readonly label?: string | undefined;
  /** Label of replay streams of any type, and of their rules. @default 'replay' */
  readonly streamLabel?: string | undefined;
  /** Label of the compliance stream. @default 'compliance' */
  readonly complianceLabel?: string | undefined;
  /** The one data publisher. @default 'twitter' */
  readonly publisher?: string | undefined;
  /** Login of the account console and HTTP Basic user of every request. @default 'dev@example.com' */
  readonly email?: string | undefined;
  /** Password of the console and of HTTP Basic. @default 'local-service' */
  readonly password?: string | undefined;
  /** Whether a page continued by `next` starts with the last post of the page before. @default false */
  readonly duplicatesAtPageEdges?: boolean | undefined;
  /** Order of the buckets, within and across the pages of counts. @default 'ascending' */
  readonly countsOrder?: 'ascending' | 'descending' | undefined;
  /**
   * Milliseconds after which a page of counts times out: it ends with the buckets counted so far.
   * @default 10_000
   */
  readonly countsTimeoutMs?: number | undefined;
  /**
   * Minimum milliseconds, by the service's clock, that a job stays in each of its states: one number
   * for all, or some states by name.
   * @default 500, but 1_000 for `estimating` and 2_000 for `running`
   */
  readonly jobDwellMs?: number | Partial<JobDwell> | undefined;
  /** Price of a job day in quotes. By default the subscription includes the cost. */
  readonly jobDollarsPerDay?: number | undefined;
  /** Whether a data file ends in an `info` line. `true` by default. */
  readonly jobInfoLine?: boolean | undefined;
  /** Milliseconds that the URLs of data files are valid. By default until the job expires. */
  readonly fileUrlMs?: number | undefined;
  /** Port of the second origin, which serves data files. 0, the default, is any free port. */
  readonly filesPort?: number | undefined;
  /** Milliseconds of real time without a message after which a stream sends a heartbeat. @default 10_000 */
  readonly heartbeatMs?: number | undefined;
  /**
   * Bytes, before compression, that may wait for a slow consumer of a stream. The service closes the
   * connection when more would wait.
   * @default 8388608 (8 MiB)
   */
  readonly streamBacklogBytes?: number | undefined;
  /**
   * Posts that a replay sends in a second of real time, even if the consumer does not keep up. By
   * default the service waits for the consumer.
   */
  readonly replayPostsPerSecond?: number | undefined;
  /**
   * Compliance events per post of the archive, 0 (the default) to 1. Posts that they delete are still
   * counted, but no longer found or delivered.
   */
  readonly complianceRate?: number | undefined;
  /**
   * Folder that keeps jobs and their files, rules of the replay stream, usage and the grants of users
   * for the next start. Without one they are lost when the service stops.
   */
  readonly stateFolder?: string | undefined;
  /** Whether the control path `/_control` is on. `true` by default. */
  readonly control?: boolean | undefined;
  /**
   * Called with each error that the service itself caused; the client got a 500. What the function
   * throws, or its promise rejects with, is a warning of the process.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;
const isPositive = (value: unknown): value is number => typeof value === 'number' && value > 0;

/** A segment of a path. */
const name = <Else extends string>(meaning: string, otherwise: Else) =>
  special<string, Else>(
    meaning,
    'text without a slash',
    value => typeof value === 'string' && value !== '' && !value.includes('/'),
    otherwise,
  );

/**
 * Every option of the service. The checks, the messages, the flags of the command line and its help
 * all come from this table.
 */
export const SERVICE_OPTIONS = {
  archive: withFlag(
    special<string | Archive>(
      'folder of 10-minute gzip files (default: generated posts)',
      'a folder or an archive',
      value =>
        (typeof value === 'string' && value !== '') ||
        (typeof value === 'object' && value !== null && 'search' in value),
    ),
    'archive',
    'FOLDER',
  ),
  ...SAMPLE_OPTIONS,
  limits: withFlag(LIMITS_OPTION, 'limits', 'LIMITS'),
  perMinuteLimit: withFlag(
    whole("the contract's limit on search requests in a minute (default: none)", { min: 1 }),
    'per-minute',
    'N',
  ),
  account: withFlag(name('name of the account', 'local'), 'account', 'NAME'),
  label: withFlag(name('label of search', 'dev'), 'label', 'NAME'),
  streamLabel: withFlag(name('label of replay and its rules', 'replay'), 'stream-label', 'NAME'),
  complianceLabel: withFlag(
    name('label of the compliance stream', 'compliance'),
    'compliance-label',
    'NAME',
  ),
  publisher: withFlag(name('the data publisher', 'twitter'), 'publisher', 'NAME'),
  email: withFlag(
    special<string, 'dev@example.com'>(
      'user of HTTP Basic and the console',
      'text without a colon',
      value => typeof value === 'string' && value !== '' && !value.includes(':'),
      'dev@example.com',
    ),
    'email',
    'ADDRESS',
  ),
  password: withFlag(
    secret('password of HTTP Basic and the console', 'local-service'),
    'password',
    'TEXT',
  ),
  duplicatesAtPageEdges: withFlag(
    flag('repeat the last post of a page at the start of the next', false),
    'duplicates',
    '',
    'true',
  ),
  countsOrder: withFlag(
    oneOf(
      'of the buckets: ascending or descending',
      ['ascending', 'descending'] as const,
      'ascending',
    ),
    'counts-order',
    'ORDER',
  ),
  countsTimeoutMs: special<number, 10_000>(
    'milliseconds after which a page of counts times out',
    'a number of milliseconds, 0 or more',
    isAmount,
    10_000,
  ),
  jobDwellMs: withFlag(JOB_DWELL, 'job-dwell', 'SECONDS', 'seconds'),
  jobDollarsPerDay: withFlag(
    special<number>(
      'price in quotes (default: included in the subscription)',
      'a number of dollars, 0 or more',
      value => isAmount(value) && Number.isFinite(value),
    ),
    'job-dollars-per-day',
    'N',
  ),
  jobInfoLine: withFlag(
    flag('data files without the info line at their end', true),
    'no-info-line',
    '',
    'false',
  ),
  fileUrlMs: withFlag(
    special<number, number>(
      'how long URLs of data files are valid (default: as long as the job)',
      'a number of milliseconds greater than 0',
      isPositive,
      Number.POSITIVE_INFINITY,
    ),
    'file-url-seconds',
    'N',
    'seconds',
  ),
  filesPort: withFlag(
    whole('port of the second origin, for data files; 0 is any free one', {
      max: 65_535,
      default: 0,
    }),
    'files-port',
    'N',
  ),
  heartbeatMs: withFlag(
    milliseconds('time without a message after which a stream sends a heartbeat', {
      default: 10_000,
    }),
    'heartbeat-seconds',
    'N',
    'seconds',
  ),
  streamBacklogBytes: withFlag(
    whole('bytes that may wait for a slow consumer of a stream', {
      min: 1,
      default: 8 * 1024 * 1024,
    }),
    'stream-backlog',
    'BYTES',
    'number',
  ),
  replayPostsPerSecond: withFlag(
    special<number, number>(
      'rate of a replay (default: that of the consumer)',
      'a number of posts greater than 0',
      isPositive,
      Number.POSITIVE_INFINITY,
    ),
    'replay-posts-per-second',
    'N',
  ),
  complianceRate: withFlag(
    special<number, 0>(
      'compliance events per post of the archive, 0 to 1',
      'a number from 0 to 1',
      value => isAmount(value) && value <= 1,
      0,
    ),
    'compliance-rate',
    'N',
  ),
  stateFolder: withFlag(
    text('keep jobs, their files, rules, usage and grants there, and go on with them'),
    'state',
    'FOLDER',
  ),
  ...OAUTH_OPTIONS,
  ...USAGE_OPTIONS,
  control: withFlag(flag('switch the control path /_control off', true), 'no-control', '', 'false'),
  onError: func<(error: unknown) => unknown>('called with errors that the service itself caused'),
} as const satisfies OptionTable<ServiceOptions>;

/** The options of the service, checked and complete. */
export interface Settings
  extends Omit<
    Checked<ServiceOptions, typeof SERVICE_OPTIONS>,
    'limits' | 'perMinuteLimit' | 'jobDwellMs' | 'userPassword' | 'onError'
  > {
  readonly limits: Limits;
  readonly jobDwellMs: JobDwell;
  readonly userPassword: string;
  readonly onError: (error: unknown) => void;
  /** See `Addresses`. */
  readonly localService: string | undefined;
}

/** @throws OptionError */
export function settingsOf(options: ServiceOptions): Settings {
  const checked = checkOptions('createService', SERVICE_OPTIONS, options);
  const { limits: given = {}, perMinuteLimit: requests, jobDwellMs = {}, ...rest } = checked;
  const limits = limitsOf(given);
  return {
    ...rest,
    limits:
      requests === undefined
        ? limits
        : { ...limits, searchPerMinuteRate: { ...limits.searchPerMinuteRate, requests } },
    jobDwellMs: dwellOf(jobDwellMs),
    userPassword: rest.userPassword ?? rest.password,
    onError: error => void report(error, rest.onError),
    localService: postsOf(rest),
  };
}

/** The options that decide which posts a service has; `undefined` for an archive that the caller made. */
function postsOf(
  options: Pick<Settings, 'archive' | 'seed' | 'format' | 'postsPerMinute' | 'complianceRate'>,
): string | undefined {
  const { archive, seed, postsPerMinute, format, complianceRate } = options;
  if (typeof archive === 'object') return undefined;
  const decisive =
    archive === undefined ? { seed, postsPerMinute } : { archive: path.resolve(archive) };
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...decisive, format, complianceRate }))
    if (value !== undefined) text.set(name, String(value));
  return text.toString();
}

async function report(error: unknown, onError: ServiceOptions['onError']): Promise<void> {
  try {
    await onError?.(error);
  } catch (thrown) {
    process.emitWarning(
      `\`onError\` of createService failed: ${thrown}. It was called with: ${error}`,
    );
  }
}
