import { OptionError } from '../errors.js';
import { Secret } from './secret.js';

type Kind = 'url' | 'segment' | 'text' | 'secret' | 'count';

interface Setting {
  readonly kind: Kind;
  readonly env: string;
  readonly what: string;
}

/** Every setting of an account: its option, its environment variable, what it is (service.md). */
export const SETTINGS = {
  baseUrl: setting('url', 'MILLRACE_BASE_URL', '{base_url}: search and counts'),
  historicalUrl: setting('url', 'MILLRACE_HISTORICAL_URL', '{historical_url}: jobs'),
  replayStreamUrl: setting('url', 'MILLRACE_REPLAY_STREAM_URL', '{replay_stream_url}: replay'),
  rulesUrl: setting('url', 'MILLRACE_RULES_URL', '{rules_url}: rules of the replay stream'),
  complianceStreamUrl: setting(
    'url',
    'MILLRACE_COMPLIANCE_STREAM_URL',
    '{compliance_stream_url}: compliance events',
  ),
  accountApiUrl: setting('url', 'MILLRACE_ACCOUNT_API_URL', '{account_api_url}: usage'),
  oauthUrl: setting('url', 'MILLRACE_OAUTH_URL', '{oauth_url}: sign-in of users'),
  dataUrl: setting('url', 'MILLRACE_DATA_URL', '{data_url}: engagement totals'),
  consoleUrl: setting('url', 'MILLRACE_CONSOLE_URL', '{console_url}: the account console'),
  statusUrl: setting('url', 'MILLRACE_STATUS_URL', '{status_url}: the status page'),
  account: setting('segment', 'MILLRACE_ACCOUNT', 'account name, as the console shows it'),
  label: setting('segment', 'MILLRACE_LABEL', 'label of the search endpoint'),
  streamLabel: setting('segment', 'MILLRACE_STREAM_LABEL', 'label of the replay stream'),
  complianceLabel: setting(
    'segment',
    'MILLRACE_COMPLIANCE_LABEL',
    'label of the compliance stream',
  ),
  rulestream: setting(
    'segment',
    'MILLRACE_RULESTREAM',
    'path segment of the rule-based product; `rulestream` when absent',
  ),
  publisher: setting('segment', 'MILLRACE_PUBLISHER', 'path segment of the data publisher'),
  email: setting('text', 'MILLRACE_EMAIL', 'email of a console login'),
  password: setting('secret', 'MILLRACE_PASSWORD', 'password of that login'),
  consumerKey: setting('text', 'MILLRACE_CONSUMER_KEY', 'consumer key of the application'),
  consumerSecret: setting(
    'secret',
    'MILLRACE_CONSUMER_SECRET',
    'consumer secret of the application',
  ),
  searchesPerMinute: setting(
    'count',
    'MILLRACE_SEARCHES_PER_MINUTE',
    'requests a minute that the contract allows over search and counts; no limit when absent',
  ),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** What kind of value each option takes. */
type Given<K extends Kind> = K extends 'secret'
  ? string | Secret
  : K extends 'count'
    ? number
    : string;
type Checked<K extends Kind> = K extends 'url'
  ? URL
  : K extends 'secret'
    ? Secret
    : K extends 'count'
      ? number
      : string;

/** The settings as options. */
export type SettingOptions = {
  readonly [Name in SettingName]?: Given<(typeof SETTINGS)[Name]['kind']> | undefined;
};

/** The settings once checked. */
export type Settings = {
  readonly [Name in SettingName]?: Checked<(typeof SETTINGS)[Name]['kind']> | undefined;
};

/** Checks what was given; what was not comes from the environment, where an empty value is none. */
export function checkSettings(
  options: SettingOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Settings {
  const checked: Record<string, string | number | URL | Secret> = {};
  for (const [name, { kind, env }] of Object.entries(SETTINGS)) {
    const option: unknown = options[name as SettingName];
    const fromEnv = environment[env] === '' ? undefined : environment[env];
    if (option !== undefined) checked[name] = check(name, name, kind, option);
    else if (fromEnv !== undefined)
      checked[name] = check(name, env, kind, kind === 'count' ? Number(fromEnv) : fromEnv);
  }
  return checked as Settings;
}

function setting<K extends Kind>(kind: K, env: string, what: string) {
  return { kind, env, what };
}

/** `origin` is what the user wrote: the option, or the environment variable. */
function check(name: string, origin: string, kind: Kind, value: unknown) {
  if (kind === 'url') return checkUrl(name, origin, value);
  if (kind === 'count') {
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      throw new OptionError(name, `Expected \`${origin}\` to be a whole number of at least 1`);
    return value as number;
  }
  if (kind === 'secret')
    return value instanceof Secret ? value : new Secret(checkText(name, origin, value));
  const text = checkText(name, origin, value);
  // A path with a dot segment is another path.
  if (kind === 'segment' && /^\.\.?$/.test(text))
    throw new OptionError(name, `Expected \`${origin}\` to be a name, got ${JSON.stringify(text)}`);
  // The first colon of a Basic login ends the email (RFC 7617 section 2).
  if (name === 'email' && text.includes(':'))
    throw new OptionError(name, `Expected \`${origin}\` to be an email: it has a colon in it`);
  return text;
}

/** The message never shows the value: it may be a password, also by mistake. */
function checkText(name: string, origin: string, value: unknown): string {
  if (typeof value !== 'string' || value === '')
    throw new OptionError(name, `Expected \`${origin}\` to be a string that is not empty`);
  if (/[\p{Cc}\p{Surrogate}]/u.test(value))
    throw new OptionError(name, `Expected \`${origin}\` to have no control characters in it`);
  return value;
}

/** An address with a password in it is refused, and none is shown before that is known. */
function checkUrl(name: string, origin: string, value: unknown): URL {
  const given = value instanceof URL ? value.href : value;
  if (typeof given !== 'string' || !URL.canParse(given))
    throw new OptionError(
      name,
      `Expected \`${origin}\` to be an absolute address such as https://host/path`,
    );
  const url = new URL(given);
  if (url.username !== '' || url.password !== '')
    throw new OptionError(
      name,
      `\`${origin}\` has a user or password in it: take them out, and pass \`email\` and \`password\``,
    );
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    throw new OptionError(
      name,
      `\`${origin}\` must be https, since passwords travel to it: ${url.protocol}//${url.host} is not, and only a loopback address may use http`,
    );
  if (url.search !== '' || url.hash !== '')
    throw new OptionError(
      name,
      `Expected \`${origin}\` to end with its path: it has a query or hash`,
    );
  return url;
}

/** `URL` has already brought every spelling of an address to one. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
