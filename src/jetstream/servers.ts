import { readFile } from 'node:fs/promises';
import type * as NatsClient from '@nats-io/transport-node';
import type {
  Authenticator,
  ConnectionOptions,
  NatsConnection,
  TlsOptions,
} from '@nats-io/transport-node';
import {
  type Checked,
  checkOptions,
  func,
  milliseconds,
  type OptionTable,
  optionError,
  special,
  text,
} from '../base/check.js';
import { isRecord } from '../base/is-record.js';
import { Secret } from '../base/secret.js';
import { withoutUndefined } from '../base/without-undefined.js';
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
  /** The seed of an NKey (`SU...`) to log in with. @default `MILLRACE_NATS_NKEY` */
  readonly nkey?: string | Secret | undefined;
  /** Another login: a function of the NATS client, such as its `jwtAuthenticator(...)`. */
  readonly authenticator?: Authenticator | undefined;
  /**
   * A connection of the NATS client that is used in place of one of its own, and stays open. It decides about addresses,
   * login, TLS and how often it reconnects, so those options cannot be given with it: give it `maxReconnectAttempts: -1`,
   * so that `maxOutageMs` decides.
   */
  readonly connection?: NatsConnection | undefined;
  /** The JetStream domain of the servers that have the stream, such as those behind a leaf node. */
  readonly domain?: string | undefined;
  /** The prefix of JetStream requests, where an account imports them by another name than `$JS.API`. */
  readonly apiPrefix?: string | undefined;
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

/** A word between the dots of a subject. */
const WORD = /^[\w-]+$/;
const SEED = /^SU[A-Z2-7]{56}$/;
const PREFIX = /^\$?[\w-]+(\.[\w-]+)*$/;

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
  nkey: { ...SECRET, meaning: 'the seed of an NKey to log in with' },
  authenticator: func<Authenticator>('another login'),
  connection: special<NatsConnection>(
    'a connection of the NATS client',
    'what `connect()` of @nats-io/transport-node resolves to',
    value =>
      isRecord(value) && ['getServers', 'request'].every(name => typeof value[name] === 'function'),
  ),
  domain: special<string>('the JetStream domain', 'letters, digits, `-` and `_`', value =>
    isText(value, WORD),
  ),
  apiPrefix: special<string>('the prefix of JetStream requests', 'such as JS.acme.API', value =>
    isText(value, PREFIX),
  ),
  tls: special<boolean | JetStreamTls>(
    'whether to use TLS, or its files',
    'true, false or an object with any of ca, cert, key',
    value => typeof value === 'boolean' || (typeof value === 'object' && value !== null),
  ),
  maxOutageMs: milliseconds('how long the servers may be out of reach', { default: 300_000 }),
} satisfies OptionTable<JetStreamServers>;

/** How to reach the servers, and how long to wait for them. */
export interface Access
  extends Pick<JetStreamServers, 'user' | 'credentials' | 'authenticator' | 'connection'> {
  /** Hosts and ports, without a scheme or a login. */
  readonly addresses: readonly string[];
  readonly password?: Secret | undefined;
  readonly token?: Secret | undefined;
  readonly nkey?: Secret | undefined;
  readonly tls?: JetStreamTls | undefined;
  /** Where the requests go, by the names that the client has for it. */
  readonly jetStream: { readonly domain?: string; readonly apiPrefix?: string };
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
  nkey: 'MILLRACE_NATS_NKEY',
} as const;

/** Logins, of which there is one. */
const LOGINS = ['user', 'token', 'credentials', 'nkey', 'authenticator'] as const;
/** What a connection of the caller has decided. */
const CONNECTED = ['servers', 'password', ...LOGINS, 'tls'] as const;

/**
 * The options with what the environment adds. Where `servers` is given, the environment adds nothing, so that
 * its login goes to no other address.
 *
 * @throws OptionError
 */
export function accessOf(
  call: string,
  options: CheckedServers,
  environment: Environment = process.env,
): Access {
  const { connection } = options;
  if (connection !== undefined) return connectedAccess(call, connection, options);
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
    nkey: secretOf(options.nkey ?? from('nkey')),
    authenticator: options.authenticator,
    tls: tlsOf(call, options.tls, urls),
    jetStream: jetStreamOf(call, options),
    maxOutageMs: options.maxOutageMs,
  };
  const logins = LOGINS.filter(name => access[name] !== undefined);
  if (logins.length > 1)
    throw optionError(call, logins[1] as string, `cannot be used with \`${logins[0]}\`: pass one`);
  if (access.nkey !== undefined && !isText(access.nkey.reveal(), SEED))
    throw optionError(call, 'nkey', 'must be the seed of a user: SU, and 56 letters and digits');
  if ((access.user === undefined) !== (access.password === undefined))
    throw optionError(
      call,
      access.user === undefined ? 'user' : 'password',
      'is missing: `user` and `password` go together',
    );
  return access;
}

type CheckedServers = Checked<JetStreamServers, typeof SERVER_OPTIONS>;

/** The access by a connection of the caller. */
function connectedAccess(
  call: string,
  connection: NatsConnection,
  options: CheckedServers,
): Access {
  const [decided] = CONNECTED.filter(name => options[name] !== undefined);
  if (decided !== undefined)
    throw optionError(call, decided, 'cannot be used with `connection`, which has decided it');
  return {
    addresses: connection.getServers().map(({ listen }) => listen),
    connection,
    jetStream: jetStreamOf(call, options),
    maxOutageMs: options.maxOutageMs,
  };
}

function jetStreamOf(call: string, { domain, apiPrefix }: CheckedServers): Access['jetStream'] {
  if (domain !== undefined && apiPrefix !== undefined)
    throw optionError(call, 'apiPrefix', 'cannot be used with `domain`: pass one');
  return withoutUndefined({ domain, apiPrefix });
}

function tlsOf(
  call: string,
  given: boolean | JetStreamTls | undefined,
  urls: readonly URL[],
): JetStreamTls | undefined {
  if (typeof given === 'object') return checkOptions(call, TLS_OPTIONS, given, 'tls');
  return (given ?? urls.some(({ protocol }) => protocol === 'tls:')) ? {} : undefined;
}

function secretOf(value: string | Secret | undefined): Secret | undefined {
  return typeof value === 'string' ? new Secret(value) : value;
}

/** The login in an address: a user with a password, or a token as in `nats://token@host`. */
function loginOf(url: URL | undefined): Partial<Record<'user' | 'password' | 'token', string>> {
  if (url === undefined) return {};
  const user = decodeURIComponent(url.username);
  return url.password === ''
    ? { token: user }
    : { user, password: decodeURIComponent(url.password) };
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value);
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
 * @throws JetStreamError where a file of the login cannot be read.
 */
export async function connectionOptions(
  { addresses, user, password, token, credentials, nkey, authenticator, tls }: Access,
  call: string,
  client: Pick<typeof NatsClient, 'credsAuthenticator' | 'nkeyAuthenticator'>,
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
      authenticator: client.credsAuthenticator(await fileOf(call, 'credentials', credentials)),
    }),
    ...(nkey !== undefined && {
      authenticator: client.nkeyAuthenticator(Buffer.from(nkey.reveal())),
    }),
    ...(authenticator !== undefined && { authenticator }),
    ...(tls !== undefined && { tls: await tlsFiles(call, tls) }),
  };
}

async function tlsFiles(call: string, { ca, cert, key }: JetStreamTls): Promise<TlsOptions> {
  const read: Record<string, string> = {};
  for (const [name, file] of Object.entries({ ca, cert, key }))
    if (file !== undefined) read[name] = String(await fileOf(call, `tls.${name}`, file));
  return read;
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
