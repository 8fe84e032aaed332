import { inspect } from 'node:util';
import {
  type Checked,
  checkOptions,
  func,
  group,
  type OptionTable,
  readOptions,
  record,
  refuseAny,
  special,
} from '../base/check.js';
import { publish } from '../base/diagnostics.js';
import { OptionError } from '../base/errors.js';
import { isLoopback } from '../base/is-loopback.js';
import { withoutUndefined } from '../base/record.js';
import { Secret } from '../base/secret.js';
import { partOfRate } from '../base/shard.js';
import { MINUTE } from '../base/time.js';
import type { OnWait, Wait } from '../base/wait.js';
import { Connections, TIMEOUTS, type Timeouts } from './connections.js';
import {
  type Family,
  LIMITS,
  type Limits,
  NO_LIMITS,
  ofEachFamily,
  type Permit,
  RATE_LIMITS,
  type Rate,
  RateLimiter,
} from './rate-limits.js';
import { RETRY, type Retrying, type RetryPolicy } from './retry.js';
import {
  BASIC_ADDRESSES,
  readSettings,
  SETTINGS,
  type SettingName,
  type SettingOptions,
  type Settings,
  variablesOf,
} from './settings.js';
import { realTime, ServiceClock, type Timing } from './timing.js';

/**
 * Options of `account`: its settings, and how requests are sent. If a setting is not given, its environment
 * variable is used.
 */
export interface AccountOptions extends SettingOptions {
  /** How long to wait for a connection, for a response to begin, and for its next bytes. */
  readonly timeouts?: Partial<Timeouts> | undefined;
  /**
   * How often, and for how long, a request is retried after server errors, rate limits and broken
   * connections.
   */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /**
   * Called before each wait for a retry, for example to log it. If it throws or its promise rejects, the call
   * ends with that error.
   */
  readonly onRetry?: ((retrying: Retrying) => unknown) | undefined;
  /**
   * Rate limits for each family of calls, in case the service's limits differ from the documented limits.
   * `[]` means no limit. Several `Account` objects for the same account share their limits. If the limits of
   * these objects differ, the strictest apply.
   * @default the documented limits of the service. If `MILLRACE_LIMITS` is `relaxed`, loopback addresses and
   * `insecureOrigins` have no limits. `start()` of a local service with relaxed limits sets this option
   */
  readonly limits?: Partial<Record<Family, readonly Rate[]>> | undefined;
  /** The clock and the source of random numbers. For tests. */
  readonly timing?: Timing | undefined;
  /**
   * Returns the service's time in epoch milliseconds. Only a local service in this process has such a
   * function: `start()` returns it as part of its settings.
   * @default computed from the `Date` headers of the service's responses
   */
  readonly serviceTime?: (() => number) | undefined;
}

/**
 * The rate limiters of all `Account` objects in this process. They are shared, because the service counts all
 * requests of an account together. Accounts with a test clock have separate limiters for each clock.
 */
const rateLimiters = new WeakMap<Timing, Map<string, RateLimiter>>();

/**
 * The environment variable that tells whether the limits of a local service are `strict` or `relaxed`. The
 * service prints it when it starts.
 */
const LIMITS_VARIABLE = 'MILLRACE_LIMITS';

/** The entry for each setting in the table of options. Accepts any value; `readSettings` checks it. */
const known = special<never>('a setting', 'a setting', () => true);

const OPTIONS = {
  ...(Object.fromEntries(
    Object.keys(SETTINGS).map(name => [name, known]),
  ) as unknown as OptionTable<SettingOptions>),
  timeouts: group<Partial<Timeouts>>('how long to wait', TIMEOUTS),
  retry: group<Partial<RetryPolicy>>('how often and how long to retry', RETRY),
  onRetry: func<(retrying: Retrying) => unknown>('called before each wait for a retry'),
  limits: group<Partial<Limits>>('other rates than the service has', RATE_LIMITS),
  timing: record<Timing>('time and chance, for tests'),
  serviceTime: func<NonNullable<AccountOptions['serviceTime']>>("the service's time, for tests"),
} satisfies OptionTable<AccountOptions>;

/**
 * Settings that `start()` of the local service returns but `account` ignores. They are the keys of
 * an application that is not approved for engagement totals, and the token for the URLs that
 * control the local service.
 */
const IGNORED = { unapprovedConsumerKey: known, unapprovedConsumerSecret: known, token: known };

/** The state that an `Account` shares with the copies that `withProgress` creates. */
interface AccountParts
  extends Pick<Account, 'settings' | 'timeouts' | 'retry' | 'timing'>,
    Pick<Account, 'clock' | 'onRetry' | 'connections'> {
  readonly limits: Limits;
  /** The limits that apply at loopback addresses and `insecureOrigins`, where a local service may run. */
  readonly localLimits: Limits;
  /**
   * The Basic credentials before encoding: the email, a colon and the password. Because they are a
   * `Secret`, errors do not show them, not even encoded in base64.
   */
  readonly login: Secret | undefined;
}

interface AccountProgress {
  readonly onRequest: () => void;
  readonly onWait: OnWait;
}

/** The credentials and addresses of an account of the service. Created by `account()`. */
export class Account {
  readonly settings: Settings;
  readonly timeouts: Timeouts;
  readonly retry: RetryPolicy;
  readonly timing: Timing;
  /** The service's clock. */
  readonly clock: ServiceClock;
  readonly onRetry: (retrying: Retrying) => unknown;
  readonly connections: Connections;
  /**
   * Its methods are called for each request and each wait. Set only on the copies that `withProgress`
   * creates.
   */
  readonly progress: AccountProgress | undefined;
  readonly #parts: AccountParts;

  constructor(parts: AccountParts, progress?: AccountProgress) {
    this.#parts = parts;
    this.settings = parts.settings;
    this.timeouts = parts.timeouts;
    this.retry = parts.retry;
    this.timing = parts.timing;
    this.clock = parts.clock;
    this.onRetry = parts.onRetry;
    this.connections = parts.connections;
    this.progress = progress;
  }

  /**
   * Returns the value of a setting that a call needs.
   *
   * @throws OptionError if the setting has no value. The message names the `purpose`.
   */
  need<Name extends SettingName>(name: Name, purpose: string): NonNullable<Settings[Name]> {
    const value = this.settings[name];
    if (value === undefined)
      throw new OptionError(
        name,
        `\`${name}\` is needed for ${purpose}: pass it to account() or set ${variablesOf(name)}`,
      );
    return value;
  }

  /**
   * Checks that all of these settings have a value.
   *
   * @throws OptionError with the names of all settings that have no value. The message names the `purpose`.
   */
  needAll(names: readonly SettingName[], purpose: string): void {
    const missing = names.filter(name => this.settings[name] === undefined);
    const [first, second] = missing;
    if (first === undefined) return;
    if (second === undefined) this.need(first, purpose);
    const list = missing.map(name => `\`${name}\` (${SETTINGS[name].env})`).join(', ');
    const all = missing.some(name => variablesOf(name) !== SETTINGS[name].env)
      ? `; ${SETTINGS.url.env} alone sets all addresses if they are one`
      : '';
    throw new OptionError(
      first,
      `Settings are missing that are needed for ${purpose}: ${list}. Pass them to account() or set the variables of the environment${all}. A local service gives all of them: start npx millrace-service --port 8080, then run eval "$(npx millrace-service --port 8080 --env)" in the shell of your script`,
    );
  }

  /**
   * Identifies the service at an address, for checkpoints and cursors. At a loopback address, uses the
   * setting `localService`, because a local service gets a different port at each start. Returns an empty
   * object if that setting has no value.
   */
  serviceAt(url: URL): { readonly service?: string } {
    const service = isLoopback(url.hostname) ? this.settings.localService : url.host;
    return service === undefined ? {} : { service };
  }

  /**
   * Returns the Basic credentials for a URL. Returns `undefined` unless the URL has the
   * origin of a configured address that takes Basic credentials.
   */
  basicFor(url: URL): string | undefined {
    if (!BASIC_ADDRESSES.some(name => this.#originOf(name) === url.origin)) return undefined;
    for (const name of ['email', 'password'] as const) this.need(name, `requests to ${url.origin}`);
    return `Basic ${Buffer.from(this.#parts.login?.reveal() ?? '').toString('base64')}`;
  }

  /** Returns an account with the same state. Its requests and waits are reported to `progress`. */
  withProgress(progress: AccountProgress | undefined): Account {
    return progress === undefined ? this : new Account(this.#parts, progress);
  }

  /** Reports a wait that begins now. Returns a function that must be called when the wait ends. */
  beginWait(wait: Omit<Wait, 'until'>): () => void {
    const until = new Date(this.clock.now() + wait.waitMs);
    const { reason, setting, waitMs } = wait;
    publish('wait', () => ({ reason, setting, waitMs, until }));
    return this.progress?.onWait({ ...wait, until }) ?? (() => {});
  }

  /** Waits until the limits of a family allow a request of this kind. */
  acquire(family: Family, base: URL, signal?: AbortSignal, kind?: string): Promise<Permit> {
    const isStream = family === 'replay' || family === 'compliance';
    const reason = isStream ? 'connect limit' : 'rate limit';
    return this.rateLimiter(family, base).acquire(kind, signal, waitMs =>
      this.beginWait({ reason, setting: `limits.${family}`, waitMs }),
    );
  }

  /**
   * Returns the rate limiter for a family of calls to one origin. All `Account` objects with the same account
   * name share it.
   */
  rateLimiter(family: Family, base: URL): RateLimiter {
    const shared = rateLimiters.get(this.timing) ?? new Map<string, RateLimiter>();
    rateLimiters.set(this.timing, shared);
    const key = JSON.stringify([family, base.origin, this.settings.account]);
    const limiter = shared.get(key) ?? new RateLimiter([], this.timing);
    shared.set(key, limiter);
    const { localLimits, limits, settings } = this.#parts;
    const isLocal =
      isLoopback(base.hostname) || settings.insecureOrigins?.includes(base.origin) === true;
    limiter.add((isLocal ? localLimits : limits)[family]);
    return limiter;
  }

  /**
   * Closes idle connections immediately. Otherwise, they are closed after some seconds. Calls that are
   * running continue, and the account can still be used.
   */
  close(): Promise<void> {
    return this.connections.close();
  }

  /** Calls `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  toJSON(): Settings {
    return this.settings;
  }

  [inspect.custom](_depth: number, options: object): string {
    const shown = Object.entries(this.settings).map(([name, value]) => [
      name,
      value instanceof URL ? value.href : value,
    ]);
    return `Account ${inspect(Object.fromEntries(shown), options)}`;
  }

  #originOf(name: SettingName): string | undefined {
    const value = this.settings[name];
    return value instanceof URL ? value.origin : undefined;
  }
}

/**
 * Returns the limits for the requests of this process. Adds the rates of the account's contract to the given
 * limits, then divides all rates by the number of shards.
 */
function limitsOf(settings: Settings, service: Limits): Limits {
  const { searchesPerMinute, engagementsPerMinute, shard } = settings;
  const all: Limits = {
    ...service,
    search: [...service.search, ...perMinute(searchesPerMinute)],
    engagement: [...service.engagement, ...perMinute(engagementsPerMinute)],
  };
  if (shard === undefined) return all;
  return ofEachFamily(all, rates => rates.map(rate => partOfRate(rate, shard)));
}

function perMinute(requests: number | undefined): readonly Rate[] {
  return requests === undefined ? [] : [{ requests, perMs: MINUTE }];
}

/**
 * Creates an account of the service: its credentials, addresses, names and limits. Options that are not
 * passed are read from environment variables: `baseUrl` from `MILLRACE_BASE_URL`, and so on. If all addresses
 * are the same, `url` or `MILLRACE_URL` is enough. A more specific address overrides `url`, and an option
 * overrides any variable. A setting is required only when a call needs it. Addresses must be https, unless
 * they are loopback or listed in `insecureOrigins`. Credentials are sent only to the origins of these
 * addresses.
 *
 * All calls of one account share the service's rate limits, even if the process calls `account()` several
 * times with different options. If these options differ in `limits`, `searchesPerMinute` or
 * `engagementsPerMinute`, every one of these limits applies to all calls of the account until the process
 * ends.
 *
 * @throws OptionError if a setting is invalid.
 * @example
 * const acme = account({ baseUrl: 'https://search.example', account: 'acme', label: 'prod' });
 * const local = account(await createService().start());
 */
export function account(
  options: AccountOptions = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Account {
  return new Account(readParts(options, environment));
}

function readParts(
  options: AccountOptions,
  environment: Readonly<Record<string, string | undefined>>,
): AccountParts {
  const { checked, problems } = readOptions('account', { ...OPTIONS, ...IGNORED }, options);
  const { settings, problems: wrongSettings } = readSettings(options, environment);
  const { [LIMITS_VARIABLE]: given = '' } = environment;
  const wrongLimits = ['', 'strict', 'relaxed'].includes(given)
    ? []
    : [{ option: 'limits', text: `\`${LIMITS_VARIABLE}\` must be strict or relaxed` }];
  refuseAny('account', [...problems, ...wrongSettings, ...wrongLimits]);
  const { email, password } = settings;
  const { onRetry, timing = realTime } = options;
  const timeouts = checked.timeouts as Timeouts;
  const own = withoutUndefined(options.limits ?? {});
  // `MILLRACE_LIMITS` applies to local services only. If someone left it set by mistake, it must not lift the
  // limits of the real service.
  const local = given === 'relaxed' ? NO_LIMITS : LIMITS;
  return {
    settings,
    timeouts,
    retry: checked.retry as RetryPolicy,
    timing,
    clock: new ServiceClock(timing, options.serviceTime),
    onRetry: retrying => {
      publish('retry', () => retrying);
      return onRetry?.(retrying);
    },
    connections: new Connections(timeouts, environment),
    limits: limitsOf(settings, { ...LIMITS, ...own }),
    localLimits: limitsOf(settings, { ...local, ...own }),
    login:
      email === undefined || password === undefined
        ? undefined
        : new Secret(`${email}:${password.reveal()}`),
  };
}

/**
 * Checks the account and the options that were passed to a call. `table` describes the valid options.
 *
 * @throws OptionError
 */
export function checkAccountOptions<
  Options extends object,
  const Table extends OptionTable<Options>,
>(call: string, account: unknown, table: Table, options: Options): Checked<Options, Table> {
  checkAccount(account);
  return checkOptions(call, table, options);
}

/** @throws OptionError if the first argument of a call was not created by `account()` */
export function checkAccount(account: unknown): void {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
}
