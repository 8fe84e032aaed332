import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { Server } from 'node:http';
import pLimit from 'p-limit';
import { checkValue, whole } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { MINUTE } from '../base/time.js';
import type { Format } from '../post/activity.js';
import { ANY } from './archive/look-up-post.js';
import { Clock } from './clock.js';
import { Compliance } from './compliance/compliance-events.js';
import { complianceRoutes } from './compliance/compliance-routes.js';
import { pageRoutes } from './console/console-routes.js';
import { firstCommand } from './console/endpoint-list.js';
import { controlRoutes } from './control-routes.js';
import { type Addresses, addressesAt } from './http/addresses.js';
import { closeServer, listen, SLOW_CLIENTS, urlOf } from './http/listen.js';
import { Faults } from './http/planted-faults.js';
import { Quotas } from './http/quotas.js';
import { RequestListener } from './http/request-listener.js';
import {
  type RequestEntry,
  type RequestFilter,
  RequestLog,
  type RequestWait,
  requestEntries,
  waitForRequests,
} from './http/request-log.js';
import type { Route } from './http/router.js';
import { JobEndpoints } from './jobs/job-routes.js';
import { Posts } from './posts/posts.js';
import { ReplayLog } from './replay/replay-log.js';
import { replayRoutes } from './replay/replay-routes.js';
import { rulesRoutes } from './replay/rules-routes.js';
import { StreamRules } from './replay/stream-rules.js';
import { searchRoutes } from './search/search-routes.js';
import { ServiceArchives } from './service-archives.js';
import type { ServiceContext } from './service-context.js';
import { type ServiceOptions, type ServiceSettings, serviceSettings } from './service-options.js';
import {
  resetState,
  restoreState,
  type Snapshot,
  type StatePart,
  type StateParts,
  snapshotOf,
} from './snapshot.js';
import { UsageMeter } from './usage/usage-meter.js';
import { usageRoutes } from './usage/usage-routes.js';
import { engagementRoutes } from './users/engagement-routes.js';
import { OAuthProvider } from './users/oauth-provider.js';
import { oauthRoutes } from './users/oauth-routes.js';
import { SignedRequests } from './users/signed-requests.js';

export const PORT = whole('port to listen on; 0 is any free one', { max: 65_535, default: 0 });

/**
 * The local service: an `http.Server` that behaves like the real service. Nothing is opened before
 * `start` (or `listen`).
 */
export class Service extends Server {
  /** The clock of the service, which a test can move. */
  readonly clock = new Clock();
  /** The planted faults. */
  readonly faults = new Faults();
  /** The added posts. A test can add, list and delete posts. */
  readonly posts: Posts;
  /** The events of the compliance stream, and the posts that these events hide. */
  readonly compliance: Compliance;
  /** The applications, the users and their grants. */
  readonly oauth: OAuthProvider;
  readonly #settings: ServiceSettings;
  readonly #context: ServiceContext;
  readonly #listener: RequestListener;
  readonly #jobs: JobEndpoints;
  readonly #state: StateParts;
  /**
   * Runs resets, snapshots and restorations one at a time. The service must not stop in the middle of a
   * restoration, because the restored jobs would continue to run.
   */
  readonly #changes = pLimit(1);
  readonly #archives: ServiceArchives;

  constructor(settings: ServiceSettings) {
    super({
      // This size is enough for the longest query in a GET, even if each character takes twelve bytes in the
      // URL.
      maxHeaderSize: 64 * 1024,
      ...SLOW_CLIENTS,
      keepAliveTimeout: 30_000,
    });
    this.#settings = settings;
    this.compliance = new Compliance({
      clock: this.clock,
      seed: settings.seed,
      rate: settings.complianceRate,
      archive: () => this.#archives.open(),
      onError: settings.onError,
    });
    const { clock, faults, compliance } = this;
    const posts = new Posts(settings.posts ?? [], settings.format, { clock, compliance });
    this.posts = posts;
    this.#archives = new ServiceArchives(settings, { clock, posts, compliance });
    const requests = new RequestLog(() => clock.now());
    const quotas = new Quotas(settings.limits, clock);
    const archive = (format?: Format) => this.#archives.visible(format);
    const usage = new UsageMeter(clock, settings);
    const rules = new StreamRules(settings.stateFolder, clock);
    const oauth = new OAuthProvider({ settings, clock, quotas, archive });
    this.oauth = oauth;
    this.#context = {
      settings,
      clock,
      faults,
      quotas,
      usage,
      requests,
      streams: new Set(),
      posts,
      compliance,
      rules,
      replays: new ReplayLog(() => clock.now()),
      oauth,
      signed: new SignedRequests(oauth, clock, settings),
      archive,
      settled: maxMs => this.#jobs.jobs.settled(maxMs),
    };
    this.#jobs = new JobEndpoints(this.#context, () => this.#url());
    this.#state = {
      jobs: this.#jobs,
      clock,
      faults,
      posts,
      compliance,
      rules,
      grants: oauth,
      usage: { replace: () => usage.reset() },
      limits: { replace: () => quotas.reset() },
      requests: { replace: () => requests.clear() },
    };
    this.#listener = new RequestListener(this.#routes(), this.#context);
    this.on('request', (request, response) => this.#listener.handle(request, response));
  }

  /**
   * Opens the archive and listens on `host`, by default 127.0.0.1. Port 0 means any free port. With
   * `await using`, the result stops the service at the end of its scope.
   *
   * @throws OptionError for a port that is in use or not allowed, or a host of another machine.
   * @throws Any error of opening the archive.
   * @example
   * const service = createService({ archive: 'downloads' });
   * await using addresses = await service.start();
   */
  async start(port = 0): Promise<Addresses & AsyncDisposable> {
    checkValue('service.start', 'port', PORT, port);
    if (this.listening)
      throw new OptionError('port', `The service already listens at ${this.#url()}`);
    const { usage, rules, signed } = this.#context;
    try {
      await this.#archives.open();
      await this.#jobs.open();
      usage.open();
      await rules.open();
      await signed.open();
      await listen(this, { host: this.#settings.host, port }, 'port');
    } catch (error) {
      await this.#close();
      throw error;
    }
    // The property is not enumerable, because addresses are printed, compared and spread.
    const value = () => this.stop();
    const addresses = this.addresses() as Addresses & AsyncDisposable;
    return Object.defineProperty(addresses, Symbol.asyncDispose, { value });
  }

  /** Returns the URLs of the service, and the credentials that it accepts. */
  addresses(): Addresses {
    return this.#addressesAt();
  }

  /**
   * @internal Returns a command that finds posts, for people who try the service; `undefined` for an empty
   * archive.
   */
  async firstCommand(): Promise<string | undefined> {
    const found = await this.#archives.firstSearch();
    return found && firstCommand(this.addresses(), found);
  }

  /**
   * Resolves once everything that is due by the clock has happened. Call it in a test after moving the clock.
   * Then jobs are in their new states, and compliance events were sent.
   *
   * @example
   * service.clock.advance(60_000);
   * await service.settled();
   */
  async settled(): Promise<void> {
    await this.#jobs.jobs.settled();
    await this.compliance.settled();
  }

  /**
   * Returns the last 500 requests in order of arrival, without requests for pages of the console. A request
   * that was not answered yet has no status.
   *
   * @param filter By default, all requests except requests to the control path.
   * @throws OptionError for an invalid filter.
   * @example
   * const pages = service.requests({ endpoint: 'search', status: 200 });
   * console.log(pages.map(({ query, posts }) => [query.next, posts]));
   */
  requests(filter: RequestFilter = {}): readonly RequestEntry[] {
    return requestEntries(this.#context.requests, filter);
  }

  /**
   * Waits for requests that were answered completely, including requests before this call. A compliance
   * stream counts once it is accepted.
   *
   * @throws OptionError for an invalid filter.
   * @throws IncompleteError if fewer than `count` requests were answered within `timeoutMs` of real time.
   * @example
   * const [first] = await service.waitForRequests({ endpoint: 'replay' });
   */
  waitForRequests(wait: RequestWait = {}): Promise<readonly RequestEntry[]> {
    return waitForRequests(this.#context.requests, wait);
  }

  /**
   * Resets the state, or parts of it, to the state at the start, so that a new test sees nothing of the
   * previous one. Jobs and rules in a state folder are removed, too. Open connections stay open.
   *
   * @param parts The names of the parts; by default all.
   * @returns The parts that were reset.
   * @throws OptionError for an unknown name.
   * @throws StorageError if the state folder cannot be written.
   * @example
   * afterEach(() => service.reset());
   * await service.reset('faults', 'clock');
   */
  reset(...parts: readonly StatePart[]): Promise<readonly StatePart[]> {
    return this.#changes(() => resetState(this.#state, parts));
  }

  /**
   * Returns the state as JSON: jobs with their files, clock, faults, added posts, injected events, rules, and
   * grants with the users' tokens. Usage, the request log, and the requests counted towards limits are not
   * included. If the service is not started, jobs, rules and grants are those in its state folder.
   *
   * @throws StorageError if stored state cannot be read, or if another service uses the state folder.
   */
  snapshot(): Promise<Snapshot> {
    return this.#changes(() => snapshotOf(this.#state));
  }

  /**
   * Replaces the state with a snapshot. Other state is reset to the state at the start. A clock that was
   * moved or frozen continues from its time in the snapshot.
   *
   * @throws OptionError for a value that `snapshot` did not return.
   * @throws StorageError
   * @example
   * const snapshot = await service.snapshot();
   * // ... a test ...
   * await service.restore(snapshot);
   */
  restore(snapshot: Snapshot): Promise<void> {
    return this.#changes(() => restoreState(this.#state, snapshot));
  }

  #url(): string {
    return urlOf(this, this.#settings.host);
  }

  /**
   * @param url The URL by which a client has called the service. In a container, for example, it differs from
   * the URL that the service itself knows.
   */
  #addressesAt(url = this.#url()): Addresses {
    return addressesAt(url, this.#settings, () => this.clock.now());
  }

  #routes(): readonly Route[] {
    const context = this.#context;
    const addresses = (origin?: string) => this.#addressesAt(origin);
    const control = { service: this, whyNotReady: () => this.#whyNotReady(), addresses };
    return [
      ...searchRoutes(context),
      ...this.#jobs.routes,
      ...replayRoutes(context),
      ...rulesRoutes(context),
      ...complianceRoutes(context),
      ...usageRoutes(context),
      ...oauthRoutes(context),
      ...engagementRoutes(context),
      ...pageRoutes({
        context,
        jobs: this.#jobs,
        addresses,
        firstSearch: () => this.#archives.firstSearch(),
      }),
      ...(context.settings.control ? controlRoutes(context, control) : []),
    ];
  }

  async #whyNotReady(): Promise<string | undefined> {
    const { stateFolder } = this.#settings;
    try {
      const now = this.clock.now();
      const archive = await this.#archives.visible();
      await archive.search(ANY, { from: now - MINUTE, to: now + 1 }, { limit: 1 });
      if (stateFolder !== undefined && existsSync(stateFolder))
        await access(stateFolder, constants.W_OK);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Closes all connections, then the archive. Resolves when everything is closed. */
  async stop(): Promise<void> {
    this.#listener.stop();
    await closeServer(this);
    await this.#changes(() => this.#close());
  }

  /** Stops the service, for `await using service = createService();`. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #close(): Promise<void> {
    const { usage, rules, signed } = this.#context;
    await this.compliance.close();
    await rules.close();
    await signed.close();
    await usage.close();
    await this.#jobs.close();
    await this.#archives.close();
  }
}

/**
 * Creates a local service that serves your own archive of posts, or generated posts. By default, it listens
 * on loopback.
 *
 * @throws OptionError For an invalid option.
 * @example
 * const service = createService({ limits: 'relaxed' });
 * const addresses = await service.start();
 * // ... GET `${addresses.baseUrl}/search/30day/accounts/local/dev.json?query=coffee`
 * await service.stop();
 */
export function createService(options: ServiceOptions = {}): Service {
  return new Service(serviceSettings(options));
}
