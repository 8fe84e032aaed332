import { OptionError } from '../errors.js';
import { Secret } from './secret.js';

type Kind = 'url' | 'segment' | 'text' | 'secret' | 'count';

/**
 * Every setting of an account: its option, what it is, and the environment variable that it comes
 * from where the option is not given. Addresses bear the names of service.md in braces.
 */
export const SETTINGS = {
  /** `{base_url}`: search and counts. */
  baseUrl: { kind: 'url', env: 'MILLRACE_BASE_URL' },
  /** `{historical_url}`: jobs. */
  historicalUrl: { kind: 'url', env: 'MILLRACE_HISTORICAL_URL' },
  /** `{replay_stream_url}`: replay streams. */
  replayStreamUrl: { kind: 'url', env: 'MILLRACE_REPLAY_STREAM_URL' },
  /** `{rules_url}`: rules of the replay stream. */
  rulesUrl: { kind: 'url', env: 'MILLRACE_RULES_URL' },
  /** `{compliance_stream_url}`: compliance events. */
  complianceStreamUrl: { kind: 'url', env: 'MILLRACE_COMPLIANCE_STREAM_URL' },
  /** `{account_api_url}`: usage. */
  accountApiUrl: { kind: 'url', env: 'MILLRACE_ACCOUNT_API_URL' },
  /** `{oauth_url}`: sign-in of users. */
  oauthUrl: { kind: 'url', env: 'MILLRACE_OAUTH_URL' },
  /** `{data_url}`: engagement totals. */
  dataUrl: { kind: 'url', env: 'MILLRACE_DATA_URL' },
  /** `{console_url}`: the account console. */
  consoleUrl: { kind: 'url', env: 'MILLRACE_CONSOLE_URL' },
  /** `{status_url}`: the status page. */
  statusUrl: { kind: 'url', env: 'MILLRACE_STATUS_URL' },
  /** Account name as the console shows it; upper and lower case differ. */
  account: { kind: 'segment', env: 'MILLRACE_ACCOUNT' },
  /** Label of the search endpoint as the console shows it. */
  label: { kind: 'segment', env: 'MILLRACE_LABEL' },
  /** Label of the replay stream. */
  streamLabel: { kind: 'segment', env: 'MILLRACE_STREAM_LABEL' },
  /** Label of the compliance stream. */
  complianceLabel: { kind: 'segment', env: 'MILLRACE_COMPLIANCE_LABEL' },
  /** What stands for `rulestream` in paths, as your account page shows it; that word when absent. */
  rulestream: { kind: 'segment', env: 'MILLRACE_RULESTREAM' },
  /** Path segment of the data publisher. */
  publisher: { kind: 'segment', env: 'MILLRACE_PUBLISHER' },
  /** Of a console login. */
  email: { kind: 'text', env: 'MILLRACE_EMAIL' },
  /** Of that login. A string is wrapped in a `Secret` at once. */
  password: { kind: 'secret', env: 'MILLRACE_PASSWORD' },
  /** Consumer key of the application (service.md 2.10). */
  consumerKey: { kind: 'text', env: 'MILLRACE_CONSUMER_KEY' },
  /** Its secret. */
  consumerSecret: { kind: 'secret', env: 'MILLRACE_CONSUMER_SECRET' },
  /** Access token of a user of the application, where `users.signIn` is not what gets it. */
  accessToken: { kind: 'secret', env: 'MILLRACE_ACCESS_TOKEN' },
  /** Its secret. */
  accessTokenSecret: { kind: 'secret', env: 'MILLRACE_ACCESS_TOKEN_SECRET' },
  /** Requests a minute that your contract allows over search and counts; no limit when absent. */
  searchesPerMinute: { kind: 'count', env: 'MILLRACE_SEARCHES_PER_MINUTE' },
  /** Requests a minute that your contract allows for engagement totals; no limit when absent. */
  engagementsPerMinute: { kind: 'count', env: 'MILLRACE_ENGAGEMENTS_PER_MINUTE' },
} as const satisfies Record<string, { readonly kind: Kind; readonly env: string }>;

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
  readonly [Name in keyof typeof SETTINGS]?: Given<(typeof SETTINGS)[Name]['kind']> | undefined;
};

/** The settings once checked. */
export type Settings = {
  readonly [Name in keyof typeof SETTINGS]?: Checked<(typeof SETTINGS)[Name]['kind']> | undefined;
};

/** Checks what was given; what was not comes from the environment, where an empty value is none. */
export function checkSettings(
  options: SettingOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Settings {
  const checked: Record<string, string | number | URL | Secret> = { rulestream: 'rulestream' };
  for (const [name, { kind, env }] of Object.entries(SETTINGS)) {
    const option: unknown = options[name as SettingName];
    const fromEnv = environment[env] === '' ? undefined : environment[env];
    if (option !== undefined) checked[name] = check(name, name, kind, option);
    else if (fromEnv !== undefined)
      checked[name] = check(name, env, kind, kind === 'count' ? Number(fromEnv) : fromEnv);
  }
  return checked as Settings;
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
  // `localhost:8787` would be read as an address of the scheme `localhost:`.
  if (typeof given === 'string' && /^(?![a-z]+:\/\/)[\w.-]+(:\d+)?(\/|$)/i.test(given.trim()))
    throw new OptionError(
      name,
      `\`${origin}\` has no scheme: begin it with https://, or with http:// for this machine, as in http://localhost:8787`,
    );
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
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
