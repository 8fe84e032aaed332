import type { ServiceContext } from '../context.js';
import { checkAccess } from '../http/check-access.js';
import { messageErrorBody } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { type Handler, jsonResponse, type Route, routesOf } from '../http/router.js';
import { readUsageQuery } from './usage-period.js';
import { usageReport } from './usage-report.js';

/**
 * Usage. The order of checks:
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
    checkAccess(incoming, settings, { account: settings.account });
    checkRate(reports, rateExceeded('for usage'));
    return context;
  });
}

const report: Handler<ServiceContext> = async ({ url }, context) =>
  jsonResponse(200, await usageReport(context, readUsageQuery(url.searchParams)));
