import { createServer, type Server } from 'node:http';
import type { ServiceContext } from '../context.js';
import { closeServer, listen, urlOf } from '../http/listen.js';
import { createRequestListener } from '../http/request-listener.js';
import type { Route } from '../http/router.js';
import { dataRoutes } from './data-routes.js';
import { createDataUrls, type DataUrls } from './data-urls.js';
import { type JobAccess, jobRoutes } from './job-routes.js';
import { Jobs } from './jobs.js';

/** All that there is to historical jobs: their endpoints, and a second origin for their files. */
export class JobEndpoints implements JobAccess {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly routes: readonly Route[];
  readonly #files: Server;
  readonly #stopFiles: () => void;
  #jobs: Jobs;
  readonly #ownUrl: () => string;
  #opened: Promise<void> | undefined;

  /** @param ownUrl Where the service itself listens. */
  constructor(context: ServiceContext, ownUrl: () => string) {
    const { seed, account } = context.settings;
    this.context = context;
    this.#jobs = new Jobs(context);
    this.urls = createDataUrls(seed, account);
    this.#ownUrl = ownUrl;
    this.routes = jobRoutes(this);
    const listener = createRequestListener(dataRoutes(this), context);
    this.#files = createServer(listener.handle);
    this.#stopFiles = listener.stop;
  }

  get jobs(): Jobs {
    return this.#jobs;
  }

  /** Where the service is. */
  get url(): string {
    return this.#ownUrl();
  }

  /** Where the data files are. */
  get filesUrl(): string {
    return urlOf(this.#files);
  }

  /**
   * Goes on with the jobs that were kept, and listens for who wants files; the second time nothing.
   *
   * @throws StorageError when jobs cannot be read; OptionError for a port that cannot be had.
   */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async close(): Promise<void> {
    this.#stopFiles();
    await this.#opened?.catch(() => {});
    await closeServer(this.#files);
    await this.#jobs.close();
    // The service may be started again.
    this.#jobs = new Jobs(this.context);
    this.#opened = undefined;
  }

  async #open(): Promise<void> {
    await listen(this.#files, this.context.settings.filesPort, 'filesPort');
    await this.#jobs.open();
  }
}
