import { createHash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import {
  type Checked,
  checkOptions,
  flag,
  func,
  milliseconds,
  type OptionTable,
  oneOf,
  optionError,
  orGroup,
  secret,
  special,
  text,
  whole,
} from '../base/check.js';
import { isLoopback } from '../base/is-loopback.js';
import type { Archive } from './archive/archive.js';
import { LIMITS_OPTION, type Limits, type LimitsOption, limitsOf } from './http/service-limits.js';
import type { GivenPost } from './posts/read-given.js';
import { SAMPLE_OPTIONS, type SampleOptions } from './sample/sample-posts.js';
import { OAUTH_OPTIONS, type OAuthOptions } from './users/applications.js';

/**
 * Options of `createService`: the archive, account, limits and behaviour of the local service. Most options
 * also exist on the command line.
 */
export interface ServiceOptions extends SampleOptions, OAuthOptions, UsageOptions {
  /**
   * The posts to serve: the path of a folder, or an `Archive`. The files of a folder can be 10-minute gzip
   * files as jobs deliver them, or other files with one post per line. Their names end in `.json`, `.jsonl`
   * or `.ndjson`, optionally followed by `.gz` or, since Node 22.15, `.zst`. By default, the service
   * generates posts for any minute since 21 March 2006.
   */
  readonly archive?: string | Archive | undefined;
  /**
   * Posts to add to the service. A post is either exact JSON, which the service sends unchanged, or some
   * fields, which the service completes. With this option, the service generates no other posts, unless
   * `postsPerMinute` is set. With an `archive`, these posts are added to it.
   */
  readonly posts?: readonly GivenPost[] | undefined;
  /** Which limits to apply. `strict`, the default, applies every limit of the service; `relaxed` applies no rates. */
  readonly limits?: LimitsOption | undefined;
  /** The contract's limit for search and count requests per minute. By default, there is none. */
  readonly perMinuteLimit?: number | undefined;
  /** The name of the account. @default 'local' */
  readonly account?: string | undefined;
  /** The label of the search endpoints. @default 'dev' */
  readonly label?: string | undefined;
  /** The label of replay streams of any type, and of their rules. @default 'replay' */
  readonly streamLabel?: string | undefined;
  /** The label of the compliance stream. @default 'compliance' */
  readonly complianceLabel?: string | undefined;
  /** The only data publisher. @default 'twitter' */
  readonly publisher?: string | undefined;
  /**
   * The email of the console login, which is also the HTTP Basic user of every request.
   *
   * @default 'dev@example.com'
   */
  readonly email?: string | undefined;
  /** The password of the console and of HTTP Basic. @default 'local-service' */
  readonly password?: string | undefined;
  /** Whether a page requested by `next` starts with the last post of the previous page. @default false */
  readonly duplicatesAtPageEdges?: boolean | undefined;
  /** The order of the buckets, within and across pages of counts. @default 'ascending' */
  readonly countsOrder?: 'ascending' | 'descending' | undefined;
  /**
   * The time limit for a page of counts, in milliseconds. If it expires, the page ends with the buckets
   * counted so far.
   *
   * @default 10_000
   */
  readonly countsTimeoutMs?: number | undefined;
  /**
   * The time limit for a page of posts, in milliseconds. If it expires, the page ends with the posts found so
   * far, and a `next` token. Engagement totals cannot be returned in part, so they fail with 503.
   *
   * @default 10_000
   */
  readonly searchTimeoutMs?: number | undefined;
  /**
   * The minimum time that a job stays in each of its states, in milliseconds by the service's clock. One
   * number for all states, or an object with numbers for some of the states.
   * @default 500, but 1_000 for `estimating` and 2_000 for `running`
   */
  readonly jobDwellMs?: number | Partial<JobDwell> | undefined;
  /**
   * The price for each UTC day of a job's time window, in US dollars. The job's quote states the total price.
   * By default, quotes state no price, because the subscription includes the cost.
   */
  readonly jobDollarsPerDay?: number | undefined;
  /** Whether a data file ends in an `info` line. @default true */
  readonly jobInfoLine?: boolean | undefined;
  /** How long the URLs of data files are valid, in milliseconds. By default, until the job expires. */
  readonly fileUrlMs?: number | undefined;
  /** The port for data files, which are on a separate origin. 0, the default, means any free port. */
  readonly filesPort?: number | undefined;
  /**
   * The time without a message after which a stream sends a heartbeat, in milliseconds of real time.
   *
   * @default 10_000
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * The maximum number of uncompressed bytes that wait for a slow consumer of a stream. If there would be
   * more, the service closes the connection.
   *
   * @default 8388608 (8 MiB)
   */
  readonly streamBacklogBytes?: number | undefined;
  /**
   * The number of posts that a replay sends per second of real time. The service does not wait for a consumer
   * that is slower. By default, it waits for the consumer.
   */
  readonly replayPostsPerSecond?: number | undefined;
  /**
   * The number of compliance events per post of the archive, 0 (the default) to 1. A deleted post is not
   * found or delivered anymore, but counts still include it.
   */
  readonly complianceRate?: number | undefined;
  /**
   * A folder for the state of the service: jobs and their files, rules of the replay stream, usage, and
   * grants of users. The next start continues from this state. Without a folder, the state is lost when the
   * service stops.
   */
  readonly stateFolder?: string | undefined;
  /**
   * The address or name of this machine on which the service listens; `0.0.0.0` means all addresses. If it is
   * not loopback, the control path and the console need a token, and data files come from the service's own
   * origin.
   *
   * @default '127.0.0.1'
   */
  readonly host?: string | undefined;
  /**
   * The token of the control path and the console: at least 16 letters, digits or `-._~+/=`. A service on
   * loopback needs no token by default. Set this option if others can reach the service, for example through
   * a proxy.
   *
   * @default a random one for each service that does not listen on loopback
   */
  readonly token?: string | undefined;
  /** Whether the control path `/_control` is available. @default true */
  readonly control?: boolean | undefined;
  /**
   * Called with each error that the service itself has caused and answered with 500. If it throws or its
   * promise rejects, a process warning is emitted.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

/** Options for the contract data in the usage report. */
export interface UsageOptions {
  /** The monthly number of activities at which the usage report alerts. */
  readonly usageAlert?: number | undefined;
  /** The monthly number of activities that the contract allows. Only reported, not enforced. */
  readonly usageCap?: number | undefined;
  /** The monthly number of requests that the contract allows for each search product. Only reported, not enforced. */
  readonly requestCap?: number | undefined;
  /** The status of the account in the usage report. @default 'active' */
  readonly accountStatus?: 'active' | 'inactive' | undefined;
}

/**
 * The minimum time that a job stays in each of these states, in milliseconds. The state `quoted` is absent,
 * because it lasts until the customer decides or the quote expires.
 */
export interface JobDwell {
  readonly opened: number;
  readonly estimating: number;
  readonly accepted: number;
  readonly running: number;
  readonly completed: number;
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;
const isPositive = (value: unknown): value is number => typeof value === 'number' && value > 0;

const dwell = <Else extends number | undefined = undefined>(otherwise?: Else) =>
  special<number, Else>(
    'minimum time of a job in each state',
    'milliseconds, 0 or more',
    isAmount,
    otherwise as Else,
  );

const DWELL_OPTIONS = {
  opened: dwell(500),
  estimating: dwell(1_000),
  accepted: dwell(500),
  running: dwell(2_000),
  completed: dwell(500),
} satisfies OptionTable<Partial<JobDwell>>;

/**
 * Returns whether a value is a host name or address. Accepts an IPv6 address in brackets, as in a URL. A zone is
 * refused, because URLs cannot have one.
 */
function isHost(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    (/^[\w.-]+$/.test(value) || (isIPv6(withoutBrackets(value)) && !value.includes('%')))
  );
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** Returns an option whose value is one segment of a URL path. */
const name = <Else extends string>(meaning: string, otherwise: Else) =>
  special<string, Else>(
    meaning,
    'text without a slash',
    value => typeof value === 'string' && value !== '' && !value.includes('/'),
    otherwise,
  );

/**
 * Every option of the service. The checks, the messages and the help of the command line are all created from
 * this table.
 */
export const SERVICE_OPTIONS = {
  archive: special<string | Archive>(
    'folder of 10-minute gzip files (default: generated posts)',
    'a folder or an archive',
    value =>
      (typeof value === 'string' && value !== '') ||
      (typeof value === 'object' && value !== null && 'search' in value),
  ),
  posts: special<readonly GivenPost[]>('exact posts', 'an array of posts', Array.isArray),
  ...SAMPLE_OPTIONS,
  limits: LIMITS_OPTION,
  perMinuteLimit: whole("the contract's limit on search requests in a minute (default: none)", {
    min: 1,
  }),
  account: name('name of the account', 'local'),
  label: name('label of search', 'dev'),
  streamLabel: name('label of replay and its rules', 'replay'),
  complianceLabel: name('label of the compliance stream', 'compliance'),
  publisher: name('the data publisher', 'twitter'),
  email: special<string, 'dev@example.com'>(
    'user of HTTP Basic and the console',
    'text without a colon',
    value => typeof value === 'string' && value !== '' && !value.includes(':'),
    'dev@example.com',
  ),
  password: secret('password of HTTP Basic and the console', 'local-service'),
  duplicatesAtPageEdges: flag('repeat the last post of a page at the start of the next', false),
  countsOrder: oneOf(
    'of the buckets: ascending or descending',
    ['ascending', 'descending'] as const,
    'ascending',
  ),
  countsTimeoutMs: special<number, 10_000>(
    'milliseconds after which a page of counts times out',
    'a number of milliseconds, 0 or more',
    isAmount,
    10_000,
  ),
  searchTimeoutMs: special<number, 10_000>(
    'milliseconds after which a page of posts, or engagement totals, time out',
    'a number of milliseconds, 0 or more',
    isAmount,
    10_000,
  ),
  /** One number for all states, or an object with numbers for some of the states. */
  jobDwellMs: orGroup(dwell(), DWELL_OPTIONS as OptionTable<Partial<JobDwell>>),
  jobDollarsPerDay: special<number>(
    'price in quotes (default: included in the subscription)',
    'a number of dollars, 0 or more',
    value => isAmount(value) && Number.isFinite(value),
  ),
  jobInfoLine: flag('data files without the info line at their end', true),
  fileUrlMs: special<number, number>(
    'how long URLs of data files are valid (default: as long as the job)',
    'a number of milliseconds greater than 0',
    isPositive,
    Number.POSITIVE_INFINITY,
  ),
  filesPort: whole('port of the second origin, for data files; 0 is any free one', {
    max: 65_535,
    default: 0,
  }),
  heartbeatMs: milliseconds('time without a message after which a stream sends a heartbeat', {
    default: 10_000,
  }),
  streamBacklogBytes: whole('bytes that may wait for a slow consumer of a stream', {
    min: 1,
    default: 8 * 1024 * 1024,
  }),
  replayPostsPerSecond: special<number, number>(
    'rate of a replay (default: that of the consumer)',
    'a number of posts greater than 0',
    isPositive,
    Number.POSITIVE_INFINITY,
  ),
  complianceRate: special<number, 0>(
    'compliance events per post of the archive, 0 to 1',
    'a number from 0 to 1',
    value => isAmount(value) && value <= 1,
    0,
  ),
  stateFolder: text(
    'folder that keeps jobs, their files, rules, usage and grants from one start to the next',
  ),
  host: special<string, '127.0.0.1'>(
    'address of this machine to listen on; 0.0.0.0 is all',
    'an address or a name of this machine, without a port',
    isHost,
    '127.0.0.1',
  ),
  token: {
    ...special<string>(
      'the token for the control path and the console (default: none on loopback, otherwise random)',
      'at least 16 letters, digits or -._~+/=',
      value => typeof value === 'string' && /^[\w.~+/=-]{16,}$/.test(value),
    ),
    isSecret: true,
  },
  ...OAUTH_OPTIONS,
  usageAlert: whole('activities a month from which the usage report warns', { min: 1 }),
  usageCap: whole('activities a month that the contract allows, for the usage report', { min: 1 }),
  requestCap: whole('search requests a month that the contract allows, for the usage report', {
    min: 1,
  }),
  accountStatus: oneOf(
    'the account in the usage report: active or inactive',
    ['active', 'inactive'],
    'active',
  ),
  control: flag('switch the control path /_control off', true),
  onError: func<(error: unknown) => unknown>('called with errors that the service itself caused'),
} as const satisfies OptionTable<ServiceOptions>;

/** The checked options of the service, with their defaults. */
export interface ServiceSettings
  extends Omit<
    Checked<ServiceOptions, typeof SERVICE_OPTIONS>,
    'limits' | 'perMinuteLimit' | 'jobDwellMs' | 'userPassword' | 'token' | 'onError'
  > {
  /** The token that requests to the control path and the console must have. `undefined` if they need none. */
  readonly token: string | undefined;
  readonly limits: Limits;
  readonly jobDwellMs: JobDwell;
  readonly userPassword: string;
  readonly onError: (error: unknown) => void;
  /** Identifies the posts of the service, see `Addresses`. */
  readonly localService: string | undefined;
}

/**
 * Validates the options of `createService`, and adds the defaults.
 *
 * @throws OptionError
 */
export function serviceSettings(options: ServiceOptions): ServiceSettings {
  const checked = checkOptions('createService', SERVICE_OPTIONS, options);
  const { limits: given = {}, perMinuteLimit: requests, jobDwellMs = {}, ...rest } = checked;
  const limits = limitsOf(given);
  const host = withoutBrackets(rest.host);
  const isLocal = isLoopback(isIPv6(host) ? `[${host}]` : host.toLowerCase());
  const token = rest.token ?? (isLocal ? undefined : randomBytes(24).toString('base64url'));
  if (token !== undefined && rest.filesPort !== 0)
    throw optionError(
      'createService',
      'filesPort',
      'is for loopback without a token: elsewhere data files come from the port of the service',
    );
  return {
    ...rest,
    host,
    token,
    // If the caller gives posts, the service generates no posts by default.
    postsPerMinute:
      options.posts !== undefined && options.postsPerMinute === undefined ? 0 : rest.postsPerMinute,
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

function dwellOf(option: number | Partial<JobDwell>): JobDwell {
  if (typeof option !== 'number') return option as JobDwell;
  const all = option;
  return { opened: all, estimating: all, accepted: all, running: all, completed: all };
}

/**
 * Returns a string that identifies the posts of the service, made from the options that determine them.
 * Checkpoints use it to recognise these posts. `undefined` for an archive that the caller created, because
 * its posts are unknown.
 */
function postsOf(
  options: Pick<
    ServiceSettings,
    'archive' | 'posts' | 'seed' | 'format' | 'postsPerMinute' | 'complianceRate'
  >,
): string | undefined {
  const { archive, posts, seed, postsPerMinute, format, complianceRate } = options;
  if (typeof archive === 'object') return undefined;
  const decisive =
    archive === undefined ? { seed, postsPerMinute } : { archive: path.resolve(archive) };
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries({
    ...decisive,
    posts: posts && digestOf(posts),
    format,
    complianceRate,
  }))
    if (value !== undefined) text.set(name, String(value));
  return text.toString();
}

function digestOf(posts: readonly GivenPost[]): string {
  const texts = posts.map(post =>
    post instanceof Uint8Array ? Buffer.from(post).toString() : post,
  );
  return createHash('sha256').update(printed(texts)).digest('base64url').slice(0, 16);
}

function printed(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    typeof member === 'bigint' ? String(member) : member,
  );
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
