import type { Client } from 'undici';
import { milliseconds, type OptionTable } from '../base/check.js';
import { SECOND } from '../base/time.js';
import { type HttpProxy, proxyFor } from './http-proxy.js';

/** The maximum number of idle connections that are kept for each origin. */
const MAX_IDLE = 32;

export interface Connection {
  readonly origin: string;
  readonly proxy: HttpProxy | undefined;
  readonly client: Client;
  /** Aborting this closes the socket while it is being opened. */
  readonly opening: AbortController;
}

/**
 * The connections of an account. Each connection handles one request at a time. The pools of undici are not
 * used: after every aborted request, a pool opens a new connection and keeps it. Here, an abort only closes
 * the connection. Idle connections do not keep the process alive, and undici closes them after some seconds.
 */
export class Connections {
  readonly #timeouts: Timeouts;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #idle = new Map<string, Connection[]>();

  /** @param environment The environment variables that may name proxies; see `proxyFor`. */
  constructor(timeouts: Timeouts, environment: Readonly<Record<string, string | undefined>>) {
    this.#timeouts = timeouts;
    this.#environment = environment;
  }

  proxyFor(target: URL): HttpProxy | undefined {
    return proxyFor(target, this.#environment);
  }

  async acquire({ origin }: URL): Promise<Connection> {
    return this.#idle.get(origin)?.pop() ?? (await this.#open(origin));
  }

  /** Makes a connection available for the next request. Call this after its response was read to its end. */
  release(connection: Connection): void {
    const idle = this.#idle.get(connection.origin) ?? [];
    this.#idle.set(connection.origin, idle);
    if (idle.length < MAX_IDLE) idle.push(connection);
    else this.destroy(connection);
  }

  destroy({ client, opening }: Connection): void {
    opening.abort();
    client.destroy().catch(() => {});
  }

  async close(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(({ client }) => client.destroy()));
  }

  async #open(origin: string): Promise<Connection> {
    const target = new URL(origin);
    const proxy = this.proxyFor(target);
    const opening = new AbortController();
    const options = { proxy, timeoutMs: this.#timeouts.connectMs, signal: opening.signal };
    // These modules are loaded with the first connection. Work on stored files needs no connection, so it
    // does not load them.
    const [Client, { openSocket }] = await Promise.all([loadClient(), import('./open-socket.js')]);
    const client = new Client(origin, {
      connect: (_, callback) => {
        openSocket(target, options).then(
          socket => callback(null, socket),
          error => callback(error, null),
        );
      },
      // undici's timeouts are turned off, because `ResponseHandler` has its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { origin, proxy, client, opening };
  }
}

/**
 * Loads only the client of undici. Loading the main module takes 240 ms of CPU time; loading the
 * client takes 89 ms (medians of 15 runs on a busy machine). Undici's connector is not used either,
 * because it keeps an aborted socket until its connect timeout. With a timeout of 5 s, an
 * unanswered TLS handshake was closed only after 5.3 s. `openSocket` therefore opens sockets and
 * uses proxies itself.
 */
async function loadClient(): Promise<typeof Client> {
  // @ts-expect-error: undici declares the types of its main module only.
  return (await import('undici/lib/dispatcher/client.js')).default;
}

/** Timeouts for the service, in milliseconds. */
export interface Timeouts {
  /** The maximum time to open a connection. @default 10_000 */
  readonly connectMs: number;
  /** The maximum time from the start of a request until its response begins. @default 90_000 */
  readonly responseMs: number;
  /**
   * The maximum time between two arrivals of bytes, including heartbeats. For streams, it must be more than
   * 30 s, because the service may send nothing for that long.
   * @default 40_000
   */
  readonly silenceMs: number;
}

export const TIMEOUTS = {
  connectMs: milliseconds('until a connection is made', { default: 10 * SECOND }),
  responseMs: milliseconds('until a response begins', { default: 90 * SECOND }),
  silenceMs: milliseconds('between two arrivals of bytes', { default: 40 * SECOND }),
} satisfies OptionTable<Partial<Timeouts>>;
