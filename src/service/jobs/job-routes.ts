import type { Format } from '../../activity/activity.js';
import { OptionError } from '../../errors.js';
import type { ServiceContext } from '../context.js';
import { checkLogin } from '../http/check-login.js';
import { checkRate, rateExceeded } from '../http/check-rate.js';
import { type ErrorBody, HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { type HttpResponse, jsonResponse } from '../http/http-response.js';
import { parseJsonObject, readBody } from '../http/request-body.js';
import type { RequestContext, Route } from '../http/router.js';
import { MAX_CREATE_BYTES, readCreateRequest, titleTaken } from './create-request.js';
import type { DataUrls } from './data-urls.js';
import { checkJobRules } from './job-rules.js';
import type { JobRunner } from './job-runner.js';
import { createdView, invalidView, type JobAddress, jobListView, jobView } from './job-views.js';
import type { Jobs } from './jobs.js';
import {
  type FileAddress,
  hasSuspectMinutes,
  resultsCsv,
  resultsListing,
  suspectMinutesView,
} from './results-listing.js';

/** What the routes need of the job endpoints. */
export interface JobAccess {
  readonly context: ServiceContext;
  readonly urls: DataUrls;
  readonly jobs: Jobs;
  /** Where the service listens. */
  readonly url: string;
  /** Where the data files are. */
  readonly filesUrl: string;
  open(): Promise<void>;
}

type Handler = (incoming: RequestContext, place: JobAddress) => Promise<HttpResponse>;

/** Milliseconds of real time that an answer waits for what is due by the clock. */
const PATIENCE_MS = 100;

const BASE = '/historical/:product/accounts/:account/publishers/:publisher';
/** `rulestream` stands for the name of the product; this is what clients know it as. */
const PRODUCTS = ['rulestream', 'powertrack'];

/**
 * Historical jobs (service.md 4.6). The order of checks:
 * 1. the credentials: 401;
 * 2. product, account and publisher: 404;
 * 3. the rate: 429;
 * 4. the job: 404;
 * 5. the body: 413, 415, 400; what it asks for: 400.
 */
export function jobRoutes(endpoints: JobAccess): readonly Route[] {
  const { context } = endpoints;
  const { settings, clock, faults } = context;
  const { limits } = settings;
  const reads = [context.quotas.window('jobReadRate')];
  const checkReads = () => checkRate(reads, rateExceeded('over status, results and list of jobs'));

  const create: Handler = async ({ request }, place) => {
    const { jobs } = endpoints;
    const windows = jobs.creationWindows;
    checkRate(windows, rateExceeded('to create jobs'), { count: false });
    const body = await readBody(request, MAX_CREATE_BYTES);
    const now = clock.now();
    const { publisher } = place;
    const hasTitle = (title: string) => jobs.hasTitle(title);
    const wanted = readCreateRequest(body, { limits, publisher, now, hasTitle });
    const { outcomes, rules, invalid } = checkJobRules(wanted.rules);
    if (invalid) return textAnswer(400, invalidView(wanted, outcomes, place, now));
    await checkFormat(wanted.format);
    // Others may have come while the archive was opened.
    checkRate(windows, rateExceeded('to create jobs'), { count: false });
    if (hasTitle(wanted.title)) throw new HttpProblem(400, titleTaken(wanted.title));
    const runner = await jobs.create(wanted, rules);
    return textAnswer(201, createdView(runner, outcomes, place));
  };

  const list: Handler = async (_, place) => {
    checkReads();
    return jsonResponse(200, jobListView(endpoints.jobs.list(), place));
  };

  const status: Handler = async ({ path }, place) => {
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
    return jsonResponse(200, jobView(runner, place, wrong?.activityCount));
  };

  const decide: Handler = async ({ request, path }, place) => {
    const runner = find(path.uuid);
    const { status: wanted } = parseJsonObject(await readBody(request, 64 * 1024)) ?? {};
    if (wanted !== 'accept' && wanted !== 'reject')
      throw new HttpProblem(
        400,
        'Invalid JSON. The body must be {"status":"accept"} or {"status":"reject"}.',
      );
    const decided = await runner.decide(
      wanted === 'accept' ? 'accepted' : 'rejected',
      settings.email,
    );
    if (!decided)
      throw new HttpProblem(
        400,
        `Cannot ${wanted} the job: its status is '${find(path.uuid).job.status}'. ` +
          "Only a job with the status 'quoted' can be accepted or rejected.",
      );
    return jsonResponse(200, jobView(runner, place));
  };

  const results: Handler = async ({ path }, place) => {
    checkReads();
    const runner = delivered(path.uuid);
    const wrong = faults.matchJob(
      'wrong-totals',
      runner.job.title,
      fault => fault.urlCount !== undefined || fault.totalFileSizeBytes !== undefined,
    );
    return jsonResponse(200, resultsListing(runner, listingPlace(runner, place), wrong));
  };

  const csv: Handler = async ({ path }, place) => {
    checkReads();
    const runner = delivered(path.uuid);
    return textAnswer(
      200,
      resultsCsv(runner, listingPlace(runner, place)),
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

  const listingPlace = (runner: JobRunner, place: JobAddress): FileAddress => ({
    ...place,
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
      checkLogin(incoming, settings);
      const { product = '', account, publisher } = incoming.path;
      if (
        !PRODUCTS.includes(product) ||
        account !== settings.account ||
        publisher !== settings.publisher
      )
        throw new HttpProblem(
          404,
          'Not Found: there is no such account or publisher (case counts)',
        );
      await endpoints.open();
      await endpoints.jobs.settled(PATIENCE_MS);
      const names = [product, 'accounts', account, 'publishers', publisher].map(encodeURIComponent);
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

/** Tools look for the `status` and `reason` of a create that was refused. */
const jobErrorBody: ErrorBody = (message, now, method) => ({
  ...(method === 'POST' && { status: 'error', reason: message }),
  ...messageErrorBody(message, now, method),
});

function textAnswer(
  status: number,
  text: string,
  type = 'application/json; charset=utf-8',
): HttpResponse {
  return { status, headers: { 'Content-Type': type }, body: [Buffer.from(text)] };
}
