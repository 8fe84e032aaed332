import type { ServiceContext } from '../context.js';
import { checkAccess } from '../http/check-access.js';
import { messageErrorBody } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { type Handler, jsonResponse, type Route, routesOf } from '../http/router.js';
import type { UsageMeter } from './usage-meter.js';
import { readUsageQuery } from './usage-period.js';
import { usageReport } from './usage-report.js';

interface UsageParts {
  readonly context: ServiceContext;
  readonly meter: UsageMeter;
}

/**
 * Usage. The order of checks:
 * 1. the credentials: 401;
 * 2. the account: 404;
 * 3. the rate: 429;
 * 4. the parameters: 400.
 */
export function usageRoutes(context: ServiceContext, meter: UsageMeter): readonly Route[] {
  const { settings, quotas } = context;
  const reports = [quotas.window('usageRate')];
  const family = { endpoint: 'usage', errorBody: messageErrorBody } as const;
  return routesOf(family, { '/accounts/:account/usage.json': { GET: report } }, incoming => {
    checkAccess(incoming, settings, { account: settings.account });
    checkRate(reports, rateExceeded('for usage'));
    return { context, meter };
  });
}

const report: Handler<UsageParts> = async ({ url }, { context, meter }) =>
  jsonResponse(200, await usageReport(context, meter, readUsageQuery(url.searchParams)));
