import { DAY, floorTo, parseTimestamp } from '../../base/time.js';
import { checkAccountAccess } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { type Handler, jsonResponse, type Route, routesOf } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import { buildUsageReport, type ReportBucket, type UsageQuery } from './build-usage-report.js';

/**
 * Returns the routes of usage. The checks are, in order:
 * 1. the credentials: 401;
 * 2. the account: 404;
 * 3. the rate: 429;
 * 4. the parameters: 400.
 */
export function usageRoutes(context: ServiceContext): readonly Route[] {
  const { settings, quotas } = context;
  const reports = [quotas.window('usageRate')];
  const family = { endpoint: 'usage', errorBody: messageErrorBody } as const;
  return routesOf(family, { '/accounts/:account/usage.json': { GET: report } }, incoming => {
    checkAccountAccess(incoming, settings, { account: settings.account });
    checkRate(reports, rateExceeded('for usage'));
    return context;
  });
}

const report: Handler<ServiceContext> = async ({ url }, context) =>
  jsonResponse(200, await buildUsageReport(context, readUsageQuery(url.searchParams)));

const NAMES = ['bucket', 'fromDate', 'toDate'];

/** @throws HttpProblem 400 with all problems of the parameters. */
export function readUsageQuery(parameters: URLSearchParams): UsageQuery {
  const problems: string[] = [];
  for (const name of new Set(parameters.keys())) {
    if (!NAMES.includes(name))
      problems.push(`Unknown parameter '${name}'. Use ${NAMES.join(', ')}.`);
    else if (parameters.getAll(name).length > 1)
      problems.push(`The parameter '${name}' comes more than once.`);
  }
  const bucket = parameters.get('bucket') ?? undefined;
  if (bucket !== undefined && bucket !== 'month' && bucket !== 'day')
    problems.push("Invalid value for parameter 'bucket'. It must be one of month, day.");
  const [from, to] = ['fromDate', 'toDate'].map(name => dayOf(name, parameters, problems));
  if (from !== undefined && to !== undefined && from >= to)
    problems.push("'fromDate' must be a day before 'toDate': both count by whole days.");
  if (problems.length > 0) throw new HttpProblem(400, problems.join('\n'));
  return { bucket: bucket as ReportBucket | undefined, from, to };
}

/** Reads a date as a day. Hours and minutes are ignored, as in the real service. */
function dayOf(name: string, parameters: URLSearchParams, problems: string[]): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const ms = parseTimestamp(text);
  if (ms === undefined)
    problems.push(`Invalid value for parameter '${name}'. It must be a UTC time YYYYMMDDHHMM.`);
  return ms === undefined ? undefined : floorTo(DAY, ms);
}
