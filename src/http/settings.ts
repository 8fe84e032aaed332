import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Problem } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isLoopback } from '../base/is-loopback.js';
import { Secret } from '../base/secret.js';
import { isShard, parseShard, SHARD_VARIABLE, type Shard } from '../base/shard.js';
import { withoutMark } from '../json/byte-codes.js';

interface GivenValues {
  readonly url: string;
  readonly origins: readonly string[];
  readonly segment: string;
  readonly text: string;
  readonly secret: string | Secret;
  readonly count: number;
  readonly shard: Shard;
}

interface CheckedValues extends Omit<GivenValues, 'url' | 'secret'> {
  readonly url: URL;
  readonly secret: Secret;
}

type Kind = keyof GivenValues;

interface Setting {
  readonly kind: Kind;
  readonly env: string;
  /**
   * Whether the setting `url` is the default of this setting. True for addresses to which programs send
   * requests; false for pages that people visit.
   */
  readonly endpoint?: boolean;
  /** Whether requests to this address may carry the email and password. */
  readonly basic?: boolean;
}

/**
 * All settings of an account. Each setting has an option, a kind, and an environment variable that provides
 * its default.
 */
export const SETTINGS = {
  /**
   * The base address of a service that has only one. It is the default of the settings from `baseUrl` to
   * `dataUrl`. Each of these settings overrides it.
   */
  url: { kind: 'url', env: 'MILLRACE_URL' },
  /** Base address of search and counts. */
  baseUrl: { kind: 'url', endpoint: true, basic: true, env: 'MILLRACE_BASE_URL' },
  /** Base address of jobs. */
  historicalUrl: { kind: 'url', endpoint: true, basic: true, env: 'MILLRACE_HISTORICAL_URL' },
  /** Base address of replay streams. */
  replayStreamUrl: { kind: 'url', endpoint: true, basic: true, env: 'MILLRACE_REPLAY_STREAM_URL' },
  /** Base address of the rules of the replay stream. */
  rulesUrl: { kind: 'url', endpoint: true, basic: true, env: 'MILLRACE_RULES_URL' },
  /** Base address of compliance events. */
  complianceStreamUrl: {
    kind: 'url',
    endpoint: true,
    basic: true,
    env: 'MILLRACE_COMPLIANCE_STREAM_URL',
  },
  /** Base address of usage. */
  accountApiUrl: { kind: 'url', endpoint: true, basic: true, env: 'MILLRACE_ACCOUNT_API_URL' },
  /** Base address of user sign-in. */
  oauthUrl: { kind: 'url', endpoint: true, env: 'MILLRACE_OAUTH_URL' },
  /** Base address of engagement totals. */
  dataUrl: { kind: 'url', endpoint: true, env: 'MILLRACE_DATA_URL' },
  /** Base address of the account console. */
  consoleUrl: { kind: 'url', basic: true, env: 'MILLRACE_CONSOLE_URL' },
  /** Base address of the status page. */
  statusUrl: { kind: 'url', env: 'MILLRACE_STATUS_URL' },
  /**
   * Origins that may be http although they are not loopback addresses, such as `http://millrace:8080` in a
   * network of containers. Passwords are sent there unencrypted. Origins are compared exactly. In the
   * environment variable, they are separated by commas.
   * @default none
   */
  insecureOrigins: { kind: 'origins', env: 'MILLRACE_INSECURE_ORIGINS' },
  /**
   * Identifies the posts of a local service; `start()` of the service returns it. Checkpoints store it
   * instead of the address. A checkpoint is then valid at any port, but is refused if the local service has
   * other posts. Used only if the address is loopback.
   */
  localService: { kind: 'text', env: 'MILLRACE_LOCAL_SERVICE' },
  /** Account name, as the console shows it. It is case-sensitive. */
  account: { kind: 'segment', env: 'MILLRACE_ACCOUNT' },
  /** Label of the search endpoint, as the console shows it. */
  label: { kind: 'segment', env: 'MILLRACE_LABEL' },
  /** Label of the replay stream. */
  streamLabel: { kind: 'segment', env: 'MILLRACE_STREAM_LABEL' },
  /** Label of the compliance stream. */
  complianceLabel: { kind: 'segment', env: 'MILLRACE_COMPLIANCE_LABEL' },
  /** The path segment of the rule stream, as your account page shows it. @default 'rulestream' */
  rulestream: { kind: 'segment', env: 'MILLRACE_RULESTREAM' },
  /** Path segment of the data publisher. */
  publisher: { kind: 'segment', env: 'MILLRACE_PUBLISHER' },
  /** Email of a console login. */
  email: { kind: 'text', env: 'MILLRACE_EMAIL' },
  /** The password of the console login. A string is wrapped in a `Secret` immediately. */
  password: { kind: 'secret', env: 'MILLRACE_PASSWORD' },
  /** Consumer key of the application. */
  consumerKey: { kind: 'text', env: 'MILLRACE_CONSUMER_KEY' },
  /** Consumer secret of the application. */
  consumerSecret: { kind: 'secret', env: 'MILLRACE_CONSUMER_SECRET' },
  /** Access token of a user of the application. Not needed if the token comes from `users.signIn`. */
  accessToken: { kind: 'secret', env: 'MILLRACE_ACCESS_TOKEN' },
  /** Secret of the access token. */
  accessTokenSecret: { kind: 'secret', env: 'MILLRACE_ACCESS_TOKEN_SECRET' },
  /**
   * Maximum number of requests per minute in your contract, for search and counts together. @default no limit
   */
  searchesPerMinute: { kind: 'count', env: 'MILLRACE_SEARCHES_PER_MINUTE' },
  /** Maximum number of requests per minute in your contract, for engagement totals. @default no limit */
  engagementsPerMinute: { kind: 'count', env: 'MILLRACE_ENGAGEMENTS_PER_MINUTE' },
  /**
   * The part of each source that this process reads, such as `{ index: 2, of: 8 }`, or `2/8` in the
   * environment variable. The rate limits of the account are divided by `of`.
   * @default the whole source
   */
  shard: { kind: 'shard', env: SHARD_VARIABLE },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;

export type UrlSettingName = {
  [Name in SettingName]: (typeof SETTINGS)[Name]['kind'] extends 'url' ? Name : never;
}[SettingName];

export type SettingOptions = {
  readonly [Name in keyof typeof SETTINGS]?:
    | GivenValues[(typeof SETTINGS)[Name]['kind']]
    | undefined;
};

export type Settings = {
  readonly [Name in keyof typeof SETTINGS]?:
    | CheckedValues[(typeof SETTINGS)[Name]['kind']]
    | undefined;
};

const LIST = Object.entries(SETTINGS) as readonly [SettingName, Setting][];

export const BASIC_ADDRESSES = LIST.filter(([, { basic }]) => basic).map(([name]) => name);

/**
 * Whether requests may be sent to an address: it is https, or it is http at a loopback address or at one of
 * the given origins.
 */
export function isSafeAddress(url: URL, insecureOrigins: readonly string[] = []): boolean {
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && (isLoopback(url.hostname) || insecureOrigins.includes(url.origin)))
  );
}

export function variablesOf(name: SettingName): string {
  const { env, endpoint }: Setting = SETTINGS[name];
  return endpoint ? `${env}, or ${SETTINGS.url.env} for all addresses` : env;
}

/**
 * Reads the settings. A setting that is not given is read from its environment variable. An empty variable
 * counts as not set.
 */
export function readSettings(
  options: SettingOptions,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  const settings: Record<string, Value> = { rulestream: 'rulestream' };
  const problems: Problem[] = [];
  const insecureOrigins = insecureOriginsOf(options, environment);
  for (const [name, { kind, env, endpoint }] of LIST) {
    const option: unknown = options[name];
    const text = environment[env] === '' ? undefined : environment[env];
    const fromEnvironment = text === undefined ? undefined : readText(kind, text);
    // If the option `url` is given, ignores the environment variables of more specific addresses. Otherwise,
    // the credentials for `url` would be sent to another address.
    if (option === undefined && options.url !== undefined && endpoint) continue;
    const value = option ?? fromEnvironment;
    if (value === undefined) continue;
    const wrong = problemOf(name, kind, value, insecureOrigins);
    if (wrong === undefined) settings[name] = convert(kind, value);
    else problems.push({ option: name, text: `\`${option === undefined ? env : name}\` ${wrong}` });
  }
  const { url } = settings;
  if (url !== undefined)
    for (const [name, { endpoint }] of LIST) if (endpoint) settings[name] ??= url;
  return { settings, problems };
}

type Value = CheckedValues[Kind];

/**
 * Reads the setting `insecureOrigins` before all other settings, because the checks of addresses need it.
 * Invalid origins are reported later, together with the problems of other settings.
 */
function insecureOriginsOf(
  { insecureOrigins }: SettingOptions,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const given = insecureOrigins ?? splitOrigins(environment[SETTINGS.insecureOrigins.env] ?? '');
  return Array.isArray(given) ? given : [];
}

function splitOrigins(text: string): readonly string[] {
  return text
    .split(',')
    .map(origin => origin.trim())
    .filter(origin => origin !== '');
}

function readText(kind: Kind, text: string): GivenValues[Kind] {
  if (kind === 'count') return Number(text);
  if (kind === 'origins') return splitOrigins(text);
  return kind === 'shard' ? (parseShard(text) ?? text) : text;
}

function convert(kind: Kind, value: unknown): Value {
  if (kind === 'url') return value instanceof URL ? value : new URL(value as string);
  if (kind === 'secret') return value instanceof Secret ? value : new Secret(value as string);
  return value as string | number;
}

/**
 * Describes what is wrong with a value. Never shows the value, because it may be a password that was given
 * for the wrong setting.
 */
function problemOf(
  name: string,
  kind: Kind,
  value: unknown,
  insecureOrigins: readonly string[],
): string | undefined {
  if (kind === 'url') return urlProblem(value, insecureOrigins);
  if (kind === 'origins')
    return Array.isArray(value) && value.every(isHttpOrigin)
      ? undefined
      : "must be exact origins of http, without a path, such as ['http://millrace:8080'], or http://millrace:8080 in the environment";
  if (kind === 'count')
    return Number.isSafeInteger(value) && (value as number) >= 1
      ? undefined
      : 'must be a whole number of at least 1';
  if (kind === 'shard')
    return isShard(value)
      ? undefined
      : 'must be a part such as { index: 2, of: 8 }, or 2/8 in the environment';
  if (kind === 'secret' && value instanceof Secret) return undefined;
  if (typeof value !== 'string' || value === '') return 'must be a string that is not empty';
  if (/[\p{Cc}\p{Surrogate}]/u.test(value)) return 'must have no control characters';
  if (kind === 'segment' && !isPathSegment(value)) return 'must be a name, not `.` or `..`';
  // In Basic credentials, the email ends at the first colon (RFC 7617 section 2).
  if (name === 'email' && value.includes(':')) return 'must be an email without a colon';
  return undefined;
}

/** Whether a string can be a segment of a path. `.` and `..` cannot, because they would change the path. */
export function isPathSegment(text: string): boolean {
  return !/^\.\.?$/.test(text);
}

/**
 * Whether a string is exactly an origin as `URL` prints it: in lower case, and without the default port, a
 * path or a user. An origin with `*` is refused, because it would never match.
 */
function isHttpOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || value.includes('*') || !URL.canParse(value)) return false;
  const { protocol, origin } = new URL(value);
  return protocol === 'http:' && origin === value;
}

function urlProblem(value: unknown, insecureOrigins: readonly string[]): string | undefined {
  const text = value instanceof URL ? value.href : value;
  // `URL` would read `localhost:8787` as an address whose scheme is `localhost:`.
  if (typeof text === 'string' && /^(?![a-z]+:\/\/)[\w.-]+(:\d+)?(\/|$)/i.test(text.trim()))
    return 'has no scheme: begin it with https://, or with http:// for this machine, as in http://localhost:8787';
  if (typeof text !== 'string' || !URL.canParse(text))
    return 'must be an absolute address such as https://host/path';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    return 'has a user or password in it: take them out, and pass `email` and `password`';
  if (!isSafeAddress(url, insecureOrigins))
    return `must be https, since passwords travel to it: ${url.protocol}//${url.host} is not, and only a loopback address may use http${
      url.protocol === 'http:'
        ? `. If nobody else can read what travels there, allow this origin: \`insecureOrigins: ['${url.origin}']\`, or ${SETTINGS.insecureOrigins.env}=${url.origin}`
        : ''
    }`;
  if (url.search !== '' || url.hash !== '') return 'must end with its path: it has a query or hash';
  return undefined;
}

/**
 * Sets the environment variables that a file defines, unless they are already set. Unlike
 * `process.loadEnvFile`, skips a byte order mark.
 *
 * @throws OptionError if the file cannot be read.
 */
export function loadVariables(file: string): void {
  try {
    const variables = parseEnv(withoutMark(readFileSync(file)).toString());
    for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
  } catch (cause) {
    const problem = `Could not read ${file}: ${(cause as Error).message}`;
    throw new OptionError('env-file', problem, { cause });
  }
}
