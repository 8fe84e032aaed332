import type { NatsConnection } from '@nats-io/transport-node';
import {
  type Checked,
  milliseconds,
  type OptionTable,
  optionError,
  required,
  special,
} from '../base/check.js';
import { isRecord } from '../base/record.js';

/**
 * Options for connections to JetStream: the connection to use, where its requests go, and how long to wait
 * while the servers are unavailable.
 */
export interface JetStreamConnectionOptions {
  /**
   * Either a connection of the NATS client, which stays open after the run, or a function that opens one. The
   * function is called once per run. The run closes the connection that it returned. Addresses, login, TLS
   * and reconnects are settings of the connection. Open the connection with `maxReconnectAttempts: -1`, so
   * that only `maxOutageMs` ends a run.
   */
  readonly connection: NatsConnection | (() => NatsConnection | Promise<NatsConnection>);
  /** The JetStream domain of the servers that hold the stream, for example servers behind a leaf node. */
  readonly domain?: string | undefined;
  /** The prefix of JetStream requests, if an account imports them under a name other than `$JS.API`. */
  readonly apiPrefix?: string | undefined;
  /**
   * How long the servers may be unreachable, have no leader or have no space, in milliseconds. Requests are
   * repeated for this long. Then the run ends with a `JetStreamError`.
   * @default 300000 (5 minutes)
   */
  readonly maxOutageMs?: number | undefined;
}

const METHODS = [
  ...['request', 'publish', 'subscribe', 'status', 'closed', 'isClosed', 'close', 'getServers'],
  'reconnect',
];

export function isConnection(value: unknown): value is NatsConnection {
  return isRecord(value) && METHODS.every(name => typeof value[name] === 'function');
}

function textLike(meaning: string, wanted: string, form: RegExp) {
  return special<string>(meaning, wanted, value => typeof value === 'string' && form.test(value));
}

export const CONNECTION_OPTIONS = {
  connection: {
    ...required(
      special<JetStreamConnectionOptions['connection']>(
        'a connection of the NATS client',
        'what `await connect()` of @nats-io/transport-node returns, or a function that opens such a connection',
        value => typeof value === 'function' || isConnection(value),
      ),
    ),
    // Marked as secret, so that error messages do not show it: an address that was passed by mistake may
    // contain a password.
    isSecret: true,
  },
  domain: textLike('the JetStream domain', 'letters, digits, `-` and `_`', /^[\w-]+$/),
  apiPrefix: textLike(
    'the prefix of JetStream requests',
    'such as JS.acme.API',
    /^\$?[\w-]+(\.[\w-]+)*$/,
  ),
  maxOutageMs: milliseconds('how long the servers may be out of reach', { default: 300_000 }),
} satisfies OptionTable<JetStreamConnectionOptions>;

export type Access = Checked<JetStreamConnectionOptions, typeof CONNECTION_OPTIONS>;

export function checkAccess(call: string, { domain, apiPrefix }: Access): void {
  if (domain !== undefined && apiPrefix !== undefined)
    throw optionError(call, 'apiPrefix', 'cannot be used with `domain`: pass one');
}
