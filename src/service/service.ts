import { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OptionError } from '../errors.js';
import type { Addresses } from './addresses.js';
import type { Archive } from './archive/archive.js';
import { openArchive } from './archive/open-archive.js';
import { Clock } from './clock.js';
import { controlRoutes } from './control.js';
import { Faults } from './faults.js';
import { createFrontDesk } from './front-desk.js';
import { searchRoutes } from './search-routes.js';
import { checkServiceOptions, type ServiceOptions, type Settings } from './service-options.js';

/** What the endpoints of all families share. */
export interface ServiceContext {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Opened on first use. */
  archive(): Promise<Archive>;
}

/**
 * The local service: an ordinary `http.Server` that answers as service.md says.
 * Nothing is opened before `start` (or `listen`).
 */
export class Service extends Server {
  /** The service's time, which a test can move. */
  readonly clock: Clock;
  /** What goes wrong on purpose. */
  readonly faults: Faults;
  readonly #settings: Settings;
  readonly #stopping: () => void;
  #archive: Promise<Archive> | undefined;

  constructor(settings: Settings) {
    super({
      // The longest query, of characters that need twelve bytes each in an address, fits a GET.
      maxHeaderSize: 64 * 1024,
      // A request that comes in drops does not hold its connection for long.
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 30_000,
    });
    this.#settings = settings;
    this.clock = new Clock();
    this.faults = new Faults();
    const context: ServiceContext = {
      settings,
      clock: this.clock,
      faults: this.faults,
      archive: () => this.#open(),
    };
    const routes = [...searchRoutes(context), ...(settings.control ? controlRoutes(context) : [])];
    const desk = createFrontDesk(routes, context);
    this.#stopping = desk.stop;
    this.on('request', desk.answer);
  }

  /**
   * Opens the archive and listens on 127.0.0.1; port 0 is any free port.
   *
   * @throws OptionError for a port that cannot be had; what opening the archive throws.
   * @example
   * const service = createService({ archive: 'downloads' });
   * const { baseUrl } = await service.start();
   */
  async start(port = 0): Promise<Addresses> {
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new OptionError('port', `Expected \`port\` to be 0 to 65535, got ${String(port)}`);
    if (this.listening)
      throw new OptionError('port', `The service already listens on port ${this.#port()}`);
    await this.#open();
    try {
      await new Promise<void>((resolve, reject) => {
        this.once('error', reject);
        this.listen(port, '127.0.0.1', () => {
          this.off('error', reject);
          resolve();
        });
      });
    } catch (error) {
      await this.#close();
      throw portError(port, error);
    }
    return this.addresses();
  }

  /** Where the service listens, and the credentials that it takes. */
  addresses(): Addresses {
    const { account, label, email, password } = this.#settings;
    return { baseUrl: `http://127.0.0.1:${this.#port()}`, account, label, email, password };
  }

  /** Ends every connection, then closes the archive. Resolves when all is closed. */
  async stop(): Promise<void> {
    this.#stopping();
    const closed = this.listening
      ? new Promise<void>(resolve => this.close(() => resolve()))
      : undefined;
    this.closeAllConnections();
    await closed;
    await this.#close();
  }

  #port(): number {
    const address = this.address() as AddressInfo | null;
    if (address === null) throw new Error('The service does not listen; start it first');
    return address.port;
  }

  #open(): Promise<Archive> {
    this.#archive ??= this.#openArchive();
    return this.#archive;
  }

  async #openArchive(): Promise<Archive> {
    const { archive, seed, format, postsPerMinute } = this.#settings;
    if (typeof archive === 'object') return archive;
    const now = () => this.clock.now();
    return openArchive({ folder: archive, seed, format, postsPerMinute, now });
  }

  async #close(): Promise<void> {
    const archive = this.#archive;
    this.#archive = undefined;
    // An archive that was handed in belongs to whoever made it.
    if (archive !== undefined && typeof this.#settings.archive !== 'object')
      await (await archive).close();
  }
}

/**
 * The whole service on loopback, over your own archive of posts or made-up ones.
 *
 * @throws OptionError for an option that cannot work.
 * @example
 * const service = createService({ limits: 'relaxed' });
 * const addresses = await service.start();
 * // ... GET `${addresses.baseUrl}/search/30day/accounts/local/dev.json?query=tea`
 * await service.stop();
 */
export function createService(options: ServiceOptions = {}): Service {
  return new Service(checkServiceOptions(options));
}

function portError(port: number, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new OptionError(
      'port',
      `Port ${port} is in use; choose another, or 0 for any free one`,
      {
        cause: error,
      },
    );
  if (code === 'EACCES')
    return new OptionError('port', `Port ${port} is not allowed to this user; choose another`, {
      cause: error,
    });
  return error;
}
