import { createServer, type Server } from 'node:http';
import type { ServiceContext } from '../context.js';
import { closeServer, listen, SLOW_CLIENTS, urlOf } from '../http/listen.js';
import { RequestListener } from '../http/request-listener.js';
import type { Route } from '../http/router.js';
import { dataRoutes } from './data-routes.js';
import { createDataUrls, type DataUrls } from './data-urls.js';
import { type JobAccess, jobRoutes } from './job-routes.js';
import { Jobs, type KeptJob } from './jobs.js';

/** The endpoints of historical jobs, and the second origin that serves their files on loopback. */
export class JobEndpoints implements JobAccess {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly routes: readonly Route[];
  readonly url: () => string;
  jobs: Jobs;
  readonly #listener: RequestListener;
  readonly #files: Server;
  #opened: Promise<void> | undefined;
  #loaded: Promise<void> | undefined;

  /** @param url The URL of the service, once it is started. */
  constructor(context: ServiceContext, url: () => string) {
    const { seed, account } = context.settings;
    this.context = context;
    this.url = url;
    this.jobs = new Jobs(context);
    this.urls = createDataUrls(seed, account);
    const files = dataRoutes(this);
    this.routes = [...jobRoutes(this), ...(this.#hasOneOrigin ? files : [])];
    this.#listener = new RequestListener(files, context);
    this.#files = createServer(SLOW_CLIENTS, (request, response) =>
      this.#listener.handle(request, response),
    );
  }

  /** The origin of the data files, if it is another one than that of the service. */
  get filesUrl(): string {
    return urlOf(this.#files, this.context.settings.host);
  }

  /** With a token, outer addresses may lead to the service, as for a container: it knows none but that of a request. */
  get #hasOneOrigin(): boolean {
    return this.context.settings.token !== undefined;
  }

  /**
   * Listens for downloads and continues the stored jobs. Later calls return the same promise.
   *
   * @throws StorageError if jobs cannot be read; OptionError if the port is not available.
   */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /** A service that is not started has no jobs that run, but may have a state folder with some. */
  #load(): Promise<void> {
    this.#loaded ??= this.jobs.open();
    return this.#loaded;
  }

  /** All jobs with their files. @throws StorageError */
  kept(): Promise<readonly KeptJob[]> {
    return this.jobs.kept();
  }

  /** Replaces all jobs by those that `kept` returned, or by none. @throws StorageError */
  async replace(kept: readonly KeptJob[] = []): Promise<void> {
    await this.#load();
    await this.jobs.remove();
    this.jobs = new Jobs(this.context);
    this.#loaded = undefined;
    // The lock of the state folder is left to another process, unless jobs of this one run.
    if (this.#opened === undefined && kept.length === 0) return;
    await this.#load();
    await this.jobs.add(kept);
  }

  async close(): Promise<void> {
    this.#listener.stop();
    await (this.#opened ?? this.#loaded)?.catch(() => {});
    await closeServer(this.#files);
    await this.jobs.close();
    // A service that was stopped can be started again.
    this.jobs = new Jobs(this.context);
    this.#opened = undefined;
    this.#loaded = undefined;
  }

  async #open(): Promise<void> {
    const { host, filesPort: port } = this.context.settings;
    if (!this.#hasOneOrigin) await listen(this.#files, { host, port }, 'filesPort');
    await this.#load();
  }
}
