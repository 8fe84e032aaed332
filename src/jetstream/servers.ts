import { readFile } from 'node:fs/promises';
import type { ConnectionOptions, credsAuthenticator } from '@nats-io/transport-node';
import {
  type Checked,
  checkOptions,
  milliseconds,
  type OptionTable,
  optionError,
  special,
  text,
} from '../check.js';
import { Secret } from '../secret.js';
import { JetStreamError } from './jet-stream-errors.js';

/** The time limit of one request: a leader that is gone does not answer. */
export const REQUEST_MS = 5_000;

/** Files of a TLS connection, in PEM. */
export interface JetStreamTls {
  /** The file of the certificate authorities. @default those of the system */
  readonly ca?: string | undefined;
  /** The file of this client's certificate. */
  readonly cert?: string | undefined;
  /** The file of its key. */
  readonly key?: string | undefined;
}

/** Where the servers are, how to log in, and how long to wait for them. */
export interface JetStreamServers {
  /**
   * Addresses of one or more servers of a cluster, `nats://host:4222`, or `tls://host:4222` for TLS. A user
   * and password in an address are taken as `user` and `password`.
   * @default `MILLRACE_NATS_URL`, several with commas between them
   */
  readonly servers?: string | readonly string[] | undefined;
  /** The name to log in with. @default `MILLRACE_NATS_USER` */
  readonly user?: string | undefined;
  /** Its password. @default `MILLRACE_NATS_PASSWORD` */
  readonly password?: string | Secret | undefined;
  /** A token to log in with. @default `MILLRACE_NATS_TOKEN` */
  readonly token?: string | Secret | undefined;
  /** The path of a credentials file (`.creds`) to log in with. @default `MILLRACE_NATS_CREDENTIALS` */
  readonly credentials?: string | undefined;
  /** Whether to use TLS, or its files. @default true for addresses with `tls://` */
  readonly tls?: boolean | JetStreamTls | undefined;
  /**
   * How long the servers may be out of reach, without a leader or without space, in milliseconds. Until then
   * every request is repeated; then the run ends with a `JetStreamError`.
   * @default 300000 (5 minutes)
   */
  readonly maxOutageMs?: number | undefined;
}

const TLS_OPTIONS = {
  ca: text('the file of the certificate authorities'),
  cert: text('the file of the certificate of this client'),
  key: text('the file of its key'),
} satisfies OptionTable<JetStreamTls>;

/** The option of a text that no message shows. */
const SECRET = {
  ...special<string | Secret>(
    'a secret',
    'a string that is not empty, or a Secret',
    value => value instanceof Secret || (typeof value === 'string' && value !== ''),
  ),
  isSecret: true,
};

export const SERVER_OPTIONS = {
  servers: {
    ...special<string | readonly string[]>(
      'addresses of the servers',
      'an address such as nats://127.0.0.1:4222, or an array of them',
      value => [value].flat().length > 0 && [value].flat().every(isAddress),
    ),
    isSecret: true,
  },
  user: text('the name to log in with'),
  password: { ...SECRET, meaning: 'the password to log in with' },
  token: { ...SECRET, meaning: 'the token to log in with' },
  credentials: text('the path of a credentials file'),
  tls: special<boolean | JetStreamTls>(
    'whether to use TLS, or its files',
    'true, false or an object with any of ca, cert, key',
    value => typeof value === 'boolean' || (typeof value === 'object' && value !== null),
  ),
  maxOutageMs: milliseconds('how long the servers may be out of reach', { default: 300_000 }),
} satisfies OptionTable<JetStreamServers>;

/** How to reach the servers, and how long to wait for them. */
export interface Access {
  /** Hosts and ports, without a scheme or a login. */
  readonly addresses: readonly string[];
  readonly user: string | undefined;
  readonly password: Secret | undefined;
  readonly token: Secret | undefined;
  readonly credentials: string | undefined;
  readonly tls: JetStreamTls | undefined;
  readonly maxOutageMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the environment that set options of `JetStreamServers`. */
export const VARIABLES = {
  servers: 'MILLRACE_NATS_URL',
  user: 'MILLRACE_NATS_USER',
  password: 'MILLRACE_NATS_PASSWORD',
  token: 'MILLRACE_NATS_TOKEN',
  credentials: 'MILLRACE_NATS_CREDENTIALS',
} as const;

/**
 * The options with what the environment adds. Where `servers` is given, the environment adds nothing, so that
 * its login goes to no other address.
 *
 * @throws OptionError
 */
export function accessOf(
  call: string,
  options: Checked<JetStreamServers, typeof SERVER_OPTIONS>,
  environment: Environment = process.env,
): Access {
  const from = (name: keyof typeof VARIABLES) =>
    options.servers !== undefined ? undefined : environment[VARIABLES[name]] || undefined;
  const given =
    options.servers ??
    from('servers')
      ?.split(',')
      .map(address => address.trim());
  if (given === undefined)
    throw optionError(call, 'servers', `is missing: pass it, or set ${VARIABLES.servers}`);
  const addresses = [given].flat();
  if (!addresses.every(isAddress))
    throw optionError(call, VARIABLES.servers, 'must be addresses such as nats://127.0.0.1:4222');
  const urls = addresses.map(urlOf);
  const login = loginOf(urls.find(url => url.username !== '' || url.password !== ''));
  const access: Access = {
    addresses: urls.map(({ host }) => host),
    user: options.user ?? from('user') ?? login.user,
    password: secretOf(options.password ?? from('password') ?? login.password),
    token: secretOf(options.token ?? from('token') ?? login.token),
    credentials: options.credentials ?? from('credentials'),
    tls: tlsOf(call, options.tls, urls),
    maxOutageMs: options.maxOutageMs,
  };
  const logins = (['user', 'token', 'credentials'] as const).filter(
    name => access[name] !== undefined,
  );
  if (logins.length > 1)
    throw optionError(call, logins[1] as string, `cannot be used with \`${logins[0]}\`: pass one`);
  if ((access.user === undefined) !== (access.password === undefined))
    throw optionError(
      call,
      access.user === undefined ? 'user' : 'password',
      'is missing: `user` and `password` go together',
    );
  return access;
}

function tlsOf(
  call: string,
  given: boolean | JetStreamTls | undefined,
  urls: readonly URL[],
): JetStreamTls | undefined {
  if (typeof given === 'object')
    return checkOptions<JetStreamTls, typeof TLS_OPTIONS>(call, TLS_OPTIONS, given, 'tls');
  return (given ?? urls.some(({ protocol }) => protocol === 'tls:')) ? {} : undefined;
}

function secretOf(value: string | Secret | undefined): Secret | undefined {
  return typeof value === 'string' ? new Secret(value) : value;
}

/** The login in an address: a user with a password, or a token as in `nats://token@host`. */
function loginOf(url: URL | undefined): {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
} {
  if (url === undefined) return {};
  const user = decodeURIComponent(url.username);
  return url.password === ''
    ? { token: user }
    : { user, password: decodeURIComponent(url.password) };
}

function isAddress(value: unknown): boolean {
  if (typeof value !== 'string' || /[\p{Cc}\s,]/u.test(value) || value === '') return false;
  const [scheme] = /^[a-z+]+(?=:\/\/)/i.exec(value) ?? ['nats'];
  if (!['nats', 'tls'].includes(scheme.toLowerCase())) return false;
  try {
    const { host, pathname, search, hash, username, password } = urlOf(value);
    decodeURIComponent(username + password);
    return host !== '' && pathname.length <= 1 && search === '' && hash === '';
  } catch {
    return false;
  }
}

function urlOf(address: string): URL {
  return new URL(address.includes('://') ? address : `nats://${address}`);
}

/**
 * The settings of a connection, by the names that the client has for them.
 *
 * @param credentialsOf What makes a login of the content of a credentials file.
 * @throws JetStreamError where a file of the login cannot be read.
 */
export async function connectionOptions(
  { addresses, user, password, token, credentials, tls }: Access,
  call: string,
  credentialsOf: typeof credsAuthenticator,
): Promise<ConnectionOptions> {
  return {
    servers: [...addresses],
    name: `millrace ${call}`,
    timeout: REQUEST_MS,
    // `RequestTries` decide how long to try.
    maxReconnectAttempts: -1,
    // `refusedLogin` decides when a login counts as refused.
    ignoreAuthErrorAbort: true,
    // Otherwise each request would make an error with a stack, for the case that it fails.
    noAsyncTraces: true,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: 5_000,
    maxPingOut: 2,
    ...(user !== undefined && password !== undefined && { user, pass: password.reveal() }),
    ...(token !== undefined && { token: token.reveal() }),
    ...(credentials !== undefined && {
      authenticator: credentialsOf(await fileOf(call, 'credentials', credentials)),
    }),
    ...(tls !== undefined && {
      tls: {
        ...(tls.ca !== undefined && { ca: await textOf(call, 'tls.ca', tls.ca) }),
        ...(tls.cert !== undefined && { cert: await textOf(call, 'tls.cert', tls.cert) }),
        ...(tls.key !== undefined && { key: await textOf(call, 'tls.key', tls.key) }),
      },
    }),
  };
}

async function textOf(call: string, option: string, file: string): Promise<string> {
  return (await fileOf(call, option, file)).toString();
}

async function fileOf(call: string, option: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new JetStreamError(
      `${call}: cannot read \`${option}\` ${file}: ${(cause as Error).message}`,
      { failure: 'refused', cause },
    );
  }
}
