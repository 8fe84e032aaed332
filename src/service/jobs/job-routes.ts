import { createServer, type Server } from 'node:http';
import { OptionError } from '../../base/errors.js';
import type { Format } from '../../post/activity.js';
import { checkAccountAccess, originOf } from '../http/check-access.js';
import { type ErrorBody, HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { closeServer, listen, SLOW_CLIENTS, urlOf } from '../http/listen.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { parseJsonObject, readBody } from '../http/read-request.js';
import { RequestListener } from '../http/request-listener.js';
import {
  type Handler,
  type HandlerResponse,
  jsonResponse,
  type Route,
  type RouteTable,
  routesOf,
} from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import { MAX_CREATE_BYTES, readCreateRequest, titleTaken } from './create-request.js';
import { createDataUrls, type DataUrls, dataRoutes } from './data-files.js';
import { checkJobRules } from './job-rules.js';
import type { JobRunner } from './job-runner.js';
import {
  createdView,
  type FileAddress,
  hasSuspectMinutes,
  invalidView,
  type JobAddress,
  jobListView,
  jobView,
  resultsCsv,
  resultsView,
  suspectMinutesView,
} from './job-views.js';
import { type KeptJob, ServiceJobs } from './service-jobs.js';

/**
 * The endpoints of historical jobs. If the service has no token, a separate server on another port sends the
 * data files.
 */
export class JobEndpoints {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly routes: readonly Route[];
  readonly url: () => string;
  jobs: ServiceJobs;
  readonly #listener: RequestListener;
  readonly #files: Server;
  #opened: Promise<void> | undefined;
  #loaded: Promise<void> | undefined;
  /**
   * Resolves when no snapshot is reading the state folder. Reading locks the folder, so jobs are opened only
   * after that.
   */
  #reading: Promise<void> = Promise.resolve();

  /** @param url Returns the URL of the service, once it is started. */
  constructor(context: ServiceContext, url: () => string) {
    const { seed, account } = context.settings;
    this.context = context;
    this.url = url;
    this.jobs = new ServiceJobs(context);
    this.urls = createDataUrls(seed, account);
    const files = dataRoutes(this);
    this.routes = [...jobRoutes(this), ...(this.#hasOneOrigin ? files : [])];
    this.#listener = new RequestListener(files, context);
    this.#files = createServer(SLOW_CLIENTS, (request, response) =>
      this.#listener.handle(request, response),
    );
  }

  /** The origin of the separate server for data files. Throws an error if that server does not listen. */
  get filesUrl(): string {
    return urlOf(this.#files, this.context.settings.host);
  }

  /**
   * Whether the service itself sends the data files, instead of a server on another port. A service with a
   * token may run in a container, and clients outside of it use a different address. Only the address to
   * which they send their requests is known to work, so the URLs of data files must have the same address.
   */
  get #hasOneOrigin(): boolean {
    return this.context.settings.token !== undefined;
  }

  /**
   * Listens for downloads, and continues the stored jobs. Later calls return the same promise.
   *
   * @throws StorageError if jobs cannot be read; OptionError if the port is not available.
   */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /**
   * Loads the stored jobs when the service starts. `replace` may load them earlier, to remove them from the
   * state folder.
   */
  #load(): Promise<void> {
    this.#loaded ??= this.#reading.then(() => this.jobs.open());
    return this.#loaded;
  }

  /** Returns all jobs with their files, also if the service is not started. @throws StorageError */
  async kept(): Promise<readonly KeptJob[]> {
    if (this.#loaded !== undefined) {
      await this.#loaded;
      return this.jobs.kept();
    }
    const kept = this.#reading.then(() => this.jobs.keptInFolder());
    this.#reading = kept.then(
      () => {},
      () => {}, // the caller gets the error
    );
    return kept;
  }

  /** Replaces all jobs with the jobs that `kept` has returned, or with none. @throws StorageError */
  async replace(kept: readonly KeptJob[] = []): Promise<void> {
    await this.#load();
    await this.jobs.remove();
    this.jobs = new ServiceJobs(this.context);
    this.#loaded = undefined;
    // `#load` takes the lock of the state folder. A service that runs no jobs and restores none must not keep
    // it, because another process may need it.
    if (this.#opened === undefined && kept.length === 0) return;
    await this.#load();
    await this.jobs.add(kept);
  }

  async close(): Promise<void> {
    this.#listener.stop();
    await (this.#opened ?? this.#loaded)?.catch(() => {});
    await closeServer(this.#files);
    await this.jobs.close();
    // A service that was stopped can be started again, so `ServiceJobs` is recreated.
    this.jobs = new ServiceJobs(this.context);
    this.#opened = undefined;
    this.#loaded = undefined;
  }

  async #open(): Promise<void> {
    const { host, filesPort: port } = this.context.settings;
    if (!this.#hasOneOrigin) await listen(this.#files, { host, port }, 'filesPort');
    await this.#load();
  }
}

interface JobParts {
  readonly access: JobEndpoints;
  readonly address: JobAddress;
  readonly filesUrl: string;
  /** Counts a request that reads jobs. @throws HttpProblem 429 */
  checkReads(): void;
}

/**
 * After the service's clock has moved, jobs have work to do. A request waits for this work for at most this
 * time, in milliseconds of real time.
 */
const MAX_WAIT_MS = 100;

const BASE = '/historical/:product/accounts/:account/publishers/:publisher';
/**
 * Names of the product in paths. `rulestream` is a placeholder for the product's name, `powertrack`; both are
 * accepted.
 */
const PRODUCTS = ['rulestream', 'powertrack'];

/**
 * Returns the routes of historical jobs. The checks are, in order:
 * 1. the credentials: 401;
 * 2. product, account and publisher: 404;
 * 3. the rate: 429;
 * 4. the job: 404;
 * 5. the body: 413, 415, 400; its content: 400.
 */
function jobRoutes(access: JobEndpoints): readonly Route[] {
  const { settings, quotas } = access.context;
  const { account, publisher } = settings;
  const reads = [quotas.window('jobReadRate')];
  const checkReads = () => checkRate(reads, rateExceeded('over status, results and list of jobs'));
  return routesOf({ endpoint: 'jobs', errorBody: jobErrorBody }, TABLE, async incoming => {
    checkAccountAccess(incoming, settings, { product: PRODUCTS, account, publisher });
    await access.open();
    await access.jobs.settled(MAX_WAIT_MS);
    const { product = '' } = incoming.path;
    const names = [product, 'accounts', account, 'publishers', publisher].map(encodeURIComponent);
    const origin = originOf(incoming.request, settings);
    const base = `${origin ?? access.url()}/historical/${names.join('/')}`;
    const filesUrl = origin ?? access.filesUrl;
    return { access, address: { account, publisher, base }, filesUrl, checkReads };
  });
}

const create: Handler<JobParts> = async ({ request }, { access: { context, jobs }, address }) => {
  const { settings, clock } = context;
  const checkCreations = () =>
    checkRate(jobs.creationWindows, rateExceeded('to create jobs'), { count: false });
  checkCreations();
  const body = await readBody(request, MAX_CREATE_BYTES);
  const now = clock.now();
  const { limits, publisher } = settings;
  const hasTitle = (title: string) => jobs.hasTitle(title);
  const job = readCreateRequest(body, { limits, publisher, now, hasTitle });
  const { outcomes, rules } = await checkJobRules(job.rules);
  if (rules === undefined) return textResponse(400, invalidView(job, outcomes, address, now));
  await checkFormat(context, job.format);
  // The limits are checked again, because other requests may have created jobs while the archive was opened.
  checkCreations();
  if (hasTitle(job.title)) throw new HttpProblem(400, titleTaken(job.title));
  const runner = await jobs.create(job, rules);
  return textResponse(201, createdView(runner, outcomes, address));
};

const list: Handler<JobParts> = (_, { access, address, checkReads }) => {
  checkReads();
  return jsonResponse(200, jobListView(access.jobs.list(), address));
};

const status: Handler<JobParts> = ({ path }, { access, address, checkReads }) => {
  checkReads();
  const runner = find(access, path.uuid);
  const { title, status } = runner.job;
  const wrong =
    status === 'delivered'
      ? access.context.faults.matchJob(
          'wrong-totals',
          title,
          fault => fault.activityCount !== undefined,
        )
      : undefined;
  return jsonResponse(200, jobView(runner, address, wrong?.activityCount));
};

const decide: Handler<JobParts> = async ({ request, path }, { access, address }) => {
  const runner = find(access, path.uuid);
  const { status } = parseJsonObject(await readBody(request, 64 * 1024)) ?? {};
  if (status !== 'accept' && status !== 'reject')
    throw new HttpProblem(
      400,
      'Invalid JSON. The body must be {"status":"accept"} or {"status":"reject"}.',
    );
  const { email } = access.context.settings;
  if (!(await runner.decide(status === 'accept' ? 'accepted' : 'rejected', email)))
    throw new HttpProblem(
      400,
      `Cannot ${status} the job: its status is '${find(access, path.uuid).job.status}'. ` +
        "Only a job with the status 'quoted' can be accepted or rejected.",
    );
  return jsonResponse(200, jobView(runner, address));
};

const results: Handler<JobParts> = ({ path }, parts) => {
  const { access } = parts;
  parts.checkReads();
  const runner = delivered(access, path.uuid);
  const wrong = access.context.faults.matchJob(
    'wrong-totals',
    runner.job.title,
    fault => fault.urlCount !== undefined || fault.totalFileSizeBytes !== undefined,
  );
  return jsonResponse(200, resultsView(runner, fileAddress(runner, parts), wrong));
};

const csv: Handler<JobParts> = ({ path }, parts) => {
  parts.checkReads();
  const runner = delivered(parts.access, path.uuid);
  const text = resultsCsv(runner, fileAddress(runner, parts));
  return textResponse(200, text, 'text/csv; charset=utf-8');
};

const suspectMinutes: Handler<JobParts> = ({ path }, { access }) => {
  const runner = delivered(access, path.uuid);
  if (!hasSuspectMinutes(runner)) throw notFound('no minute of this job is suspect');
  return jsonResponse(200, suspectMinutesView(runner));
};

const TABLE: RouteTable<JobParts> = {
  [`${BASE}/jobs.json`]: { GET: list, POST: create },
  [`${BASE}/jobs/:uuid/results.json`]: { GET: results },
  [`${BASE}/jobs/:uuid/results.csv`]: { GET: csv },
  [`${BASE}/jobs/:uuid/suspectMinutes.json`]: { GET: suspectMinutes },
  [`${BASE}/jobs/:uuid.json`]: { GET: status, PUT: decide },
};

async function checkFormat({ archive }: ServiceContext, format: Format): Promise<void> {
  await archive(format).catch(error => {
    if (!(error instanceof OptionError)) throw error;
    throw new HttpProblem(400, `Invalid value for field 'dataFormat'. ${error.message}.`);
  });
}

function find({ jobs }: JobEndpoints, uuid = ''): JobRunner {
  const runner = jobs.find(uuid);
  if (runner === undefined) throw notFound(`there is no job ${uuid}`);
  if (runner.expired) throw notFound(`the job ${uuid} has expired and cannot be recovered`);
  return runner;
}

function delivered(access: JobEndpoints, uuid = ''): JobRunner {
  const runner = find(access, uuid);
  const { status } = runner.job;
  if (status !== 'delivered')
    throw notFound(`the job ${uuid} has no results; its status is '${status}'`);
  return runner;
}

function notFound(problem: string): HttpProblem {
  return new HttpProblem(404, `Not Found: ${problem}`);
}

function fileAddress(
  { expiresAt }: JobRunner,
  { access, address, filesUrl }: JobParts,
): FileAddress {
  const { urls, context } = access;
  const { clock, settings } = context;
  const until = Math.min(expiresAt, clock.now() + settings.fileUrlMs);
  return { ...address, urls, filesUrl, expiresAt: until };
}

/**
 * Returns the body of an error response of the job endpoints. Existing clients read `status` and `reason` if
 * creating a job fails.
 */
const jobErrorBody: ErrorBody = (message, now, method) => ({
  ...(method === 'POST' && { status: 'error', reason: message }),
  ...messageErrorBody(message, now, method),
});

function textResponse(
  status: number,
  text: string,
  type = 'application/json; charset=utf-8',
): HandlerResponse {
  return { status, headers: { 'Content-Type': type }, body: [Buffer.from(text)] };
}
