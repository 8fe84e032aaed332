import type { Client } from 'undici';
import type { Timeouts } from './timeouts.js';

/** Idle connections that are kept for each origin. */
const MAX_IDLE = 32;

/**
 * The connections of an account, each with one request at a time. The pools of undici open a new connection
 * after every aborted request, so that one stays open after an abort; here, an abort closes the connection.
 * Idle connections do not keep the process alive, and undici closes them after seconds.
 */
export class Connections {
  readonly #timeouts: Timeouts;
  readonly #idle = new Map<string, Client[]>();

  constructor(timeouts: Timeouts) {
    this.#timeouts = timeouts;
  }

  async acquire(origin: string): Promise<Client> {
    return this.#idle.get(origin)?.pop() ?? (await this.#open(origin));
  }

  /** Returns a connection whose response was read to its end. */
  release(origin: string, client: Client): void {
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    if (idle.length < MAX_IDLE) idle.push(client);
    else this.destroy(client);
  }

  /** Closes a connection and the request on it. */
  destroy(client: Client): void {
    client.destroy().catch(() => {});
  }

  /** Closes the idle connections. Requests that are running go on, and new connections can be opened. */
  async close(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(client => client.destroy()));
  }

  async #open(origin: string): Promise<Client> {
    // Loaded with the first connection: work on stored files does not need its 20 MB.
    const { Client } = await import('undici');
    return new Client(origin, {
      connect: { timeout: this.#timeouts.connectMs },
      // The timeouts of ResponseHandler replace these: undici's stop while a body is paused.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
}
