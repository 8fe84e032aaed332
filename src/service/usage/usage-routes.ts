import type { ServiceContext } from '../context.js';
import { checkLogin } from '../http/check-login.js';
import { checkRate, rateExceeded } from '../http/check-rate.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { jsonResponse } from '../http/http-response.js';
import type { Route } from '../http/router.js';
import type { UsageMeter } from './usage-meter.js';
import { readUsageQuery } from './usage-period.js';
import { usageReport } from './usage-report.js';

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
  return [
    {
      endpoint: 'usage',
      methods: ['GET'],
      pattern: '/accounts/:account/usage.json',
      errorBody: messageErrorBody,
      async handle(incoming) {
        checkLogin(incoming, settings);
        if (incoming.path.account !== settings.account)
          throw new HttpProblem(404, 'Not Found: there is no such account (case counts)');
        checkRate(reports, rateExceeded('for usage'));
        return jsonResponse(
          200,
          await usageReport(context, meter, readUsageQuery(incoming.url.searchParams)),
        );
      },
    },
  ];
}
