import type { Format } from '../../activity/activity.js';
import { OptionError } from '../../errors.js';
import type { ServiceContext } from '../context.js';
import { checkAccess } from '../http/check-access.js';
import { type ErrorBody, HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { parseJsonObject, readBody } from '../http/request-body.js';
import {
  type HttpResponse,
  jsonResponse,
  type RequestContext,
  type Route,
} from '../http/router.js';
import { MAX_CREATE_BYTES, readCreateRequest, titleTaken } from './create-request.js';
import type { DataUrls } from './data-urls.js';
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
import type { Jobs } from './jobs.js';

/** The parts of the job endpoints that their routes use. */
export interface JobAccess {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly jobs: Jobs;
  /** The URL of the service. */
  readonly url: string;
  /** The origin of the data files. */
  readonly filesUrl: string;
  open(): Promise<void>;
}

type Handler = (incoming: RequestContext, address: JobAddress) => Promise<HttpResponse>;

/** Milliseconds of real time that a response waits for work that is due by the clock. */
const MAX_WAIT_MS = 100;

const BASE = '/historical/:product/accounts/:account/publishers/:publisher';
/** `rulestream` is a placeholder for the product's name, `powertrack`; both work. */
const PRODUCTS = ['rulestream', 'powertrack'];

/**
 * Historical jobs. The order of checks:
 * 1. the credentials: 401;
 * 2. product, account and publisher: 404;
 * 3. the rate: 429;
 * 4. the job: 404;
 * 5. the body: 413, 415, 400; its content: 400.
 */
export function jobRoutes(endpoints: JobAccess): readonly Route[] {
  const { context } = endpoints;
  const { settings, clock, faults } = context;
  const { limits } = settings;
  const reads = [context.quotas.window('jobReadRate')];
  const checkReads = () => checkRate(reads, rateExceeded('over status, results and list of jobs'));

  const create: Handler = async ({ request }, address) => {
    const { jobs } = endpoints;
    const windows = jobs.creationWindows;
    checkRate(windows, rateExceeded('to create jobs'), { count: false });
    const body = await readBody(request, MAX_CREATE_BYTES);
    const now = clock.now();
    const { publisher } = address;
    const hasTitle = (title: string) => jobs.hasTitle(title);
    const job = readCreateRequest(body, { limits, publisher, now, hasTitle });
    const { outcomes, rules, invalid } = checkJobRules(job.rules);
    if (invalid) return textResponse(400, invalidView(job, outcomes, address, now));
    await checkFormat(job.format);
    // Again, because other creates may have finished while the archive opened.
    checkRate(windows, rateExceeded('to create jobs'), { count: false });
    if (hasTitle(job.title)) throw new HttpProblem(400, titleTaken(job.title));
    const runner = await jobs.create(job, rules);
    return textResponse(201, createdView(runner, outcomes, address));
  };

  const list: Handler = async (_, address) => {
    checkReads();
    return jsonResponse(200, jobListView(endpoints.jobs.list(), address));
  };

  const status: Handler = async ({ path }, address) => {
    checkReads();
    const runner = find(path.uuid);
    const wrong =
      runner.job.status === 'delivered'
        ? faults.matchJob(
            'wrong-totals',
            runner.job.title,
            fault => fault.activityCount !== undefined,
          )
        : undefined;
    return jsonResponse(200, jobView(runner, address, wrong?.activityCount));
  };

  const decide: Handler = async ({ request, path }, address) => {
    const runner = find(path.uuid);
    const { status } = parseJsonObject(await readBody(request, 64 * 1024)) ?? {};
    if (status !== 'accept' && status !== 'reject')
      throw new HttpProblem(
        400,
        'Invalid JSON. The body must be {"status":"accept"} or {"status":"reject"}.',
      );
    const decided = await runner.decide(
      status === 'accept' ? 'accepted' : 'rejected',
      settings.email,
    );
    if (!decided)
      throw new HttpProblem(
        400,
        `Cannot ${status} the job: its status is '${find(path.uuid).job.status}'. ` +
          "Only a job with the status 'quoted' can be accepted or rejected.",
      );
    return jsonResponse(200, jobView(runner, address));
  };

  const results: Handler = async ({ path }, address) => {
    checkReads();
    const runner = delivered(path.uuid);
    const wrong = faults.matchJob(
      'wrong-totals',
      runner.job.title,
      fault => fault.urlCount !== undefined || fault.totalFileSizeBytes !== undefined,
    );
    return jsonResponse(200, resultsView(runner, fileAddress(runner, address), wrong));
  };

  const csv: Handler = async ({ path }, address) => {
    checkReads();
    const runner = delivered(path.uuid);
    return textResponse(
      200,
      resultsCsv(runner, fileAddress(runner, address)),
      'text/csv; charset=utf-8',
    );
  };

  const suspectMinutes: Handler = async ({ path }) => {
    const runner = delivered(path.uuid);
    if (!hasSuspectMinutes(runner))
      throw new HttpProblem(404, 'Not Found: no minute of this job is suspect');
    return jsonResponse(200, suspectMinutesView(runner));
  };

  const checkFormat = (format: Format) =>
    context.archive(format).catch(error => {
      if (!(error instanceof OptionError)) throw error;
      throw new HttpProblem(400, `Invalid value for field 'dataFormat'. ${error.message}.`);
    });

  const find = (uuid = ''): JobRunner => {
    const runner = endpoints.jobs.find(uuid);
    if (runner === undefined) throw new HttpProblem(404, `Not Found: there is no job ${uuid}`);
    if (runner.expired)
      throw new HttpProblem(404, `Not Found: the job ${uuid} has expired and cannot be recovered`);
    return runner;
  };

  const delivered = (uuid = ''): JobRunner => {
    const runner = find(uuid);
    if (runner.job.status !== 'delivered')
      throw new HttpProblem(
        404,
        `Not Found: the job ${uuid} has no results; its status is '${runner.job.status}'`,
      );
    return runner;
  };

  const fileAddress = (runner: JobRunner, address: JobAddress): FileAddress => ({
    ...address,
    urls: endpoints.urls,
    filesUrl: endpoints.filesUrl,
    expiresAt: Math.min(runner.expiresAt, clock.now() + settings.fileUrlMs),
  });

  const route = (pattern: string, methods: Readonly<Record<string, Handler>>): Route => ({
    endpoint: 'jobs',
    methods: Object.keys(methods),
    pattern: BASE + pattern,
    errorBody: jobErrorBody,
    async handle(incoming) {
      const { account, publisher } = settings;
      checkAccess(incoming, settings, { product: PRODUCTS, account, publisher });
      await endpoints.open();
      await endpoints.jobs.settled(MAX_WAIT_MS);
      const names = [incoming.path.product ?? '', 'accounts', account, 'publishers', publisher].map(
        encodeURIComponent,
      );
      const base = `${endpoints.url}/historical/${names.join('/')}`;
      return (methods[incoming.method] as Handler)(incoming, { account, publisher, base });
    },
  });

  return [
    route('/jobs.json', { GET: list, POST: create }),
    route('/jobs/:uuid/results.json', { GET: results }),
    route('/jobs/:uuid/results.csv', { GET: csv }),
    route('/jobs/:uuid/suspectMinutes.json', { GET: suspectMinutes }),
    route('/jobs/:uuid.json', { GET: status, PUT: decide }),
  ];
}

/** Existing clients read `status` and `reason` of a failed create. */
const jobErrorBody: ErrorBody = (message, now, method) => ({
  ...(method === 'POST' && { status: 'error', reason: message }),
  ...messageErrorBody(message, now, method),
});

function textResponse(
  status: number,
  text: string,
  type = 'application/json; charset=utf-8',
): HttpResponse {
  return { status, headers: { 'Content-Type': type }, body: [Buffer.from(text)] };
}
