import type { Client } from 'undici';
import type { Timeouts } from './timeouts.js';

/** Idle connections that are kept for each origin. */
const MOST_IDLE = 32;

/**
 * Connections of an account, one request at a time on each. undici's own pools connect anew after
 * every request that is aborted under way, so an abort would leave a connection open; here it ends
 * the connection for good. Idle ones keep no process alive, and undici closes them after seconds.
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

  /** Gives back a connection whose response was read to its end. */
  release(origin: string, client: Client): void {
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    if (idle.length < MOST_IDLE) idle.push(client);
    else this.destroy(client);
  }

  /** Closes a connection, whatever is under way on it. */
  destroy(client: Client): void {
    client.destroy().catch(() => {});
  }

  /** Closes those that are idle. What is under way goes on, and new ones can be opened. */
  async close(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map(client => client.destroy()));
  }

  async #open(origin: string): Promise<Client> {
    // Loaded when a connection is first asked for: work on stored files does without its 20 MB.
    const { Client } = await import('undici');
    return new Client(origin, {
      connect: { timeout: this.#timeouts.connectMs },
      // Our own watch over answers replaces these: undici's stands still while a body is paused.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
}
