import { jsonAnswer } from '../http/answer.js';
import { checkLogin } from '../http/check-login.js';
import { checkRate } from '../http/check-rate.js';
import { messageErrorBody, Refusal } from '../http/problem.js';
import type { Route } from '../http/router.js';
import type { ServiceContext } from '../service.js';
import { readUsageQuery } from './usage-period.js';
import { usageReport } from './usage-report.js';

/**
 * Usage (service.md 4.7). The order of checks:
 * 1. the credentials: 401;
 * 2. the account: 404;
 * 3. the rate: 429;
 * 4. the parameters: 400.
 */
export function usageRoutes(context: ServiceContext): readonly Route[] {
  const { settings, quotas } = context;
  const reports = [quotas.window('usageRate')];
  return [
    {
      endpoint: 'usage',
      methods: ['GET'],
      pattern: '/accounts/:account/usage.json',
      errorBody: messageErrorBody,
      async handle(exchange) {
        checkLogin(exchange, settings);
        if (exchange.path.account !== settings.account)
          throw new Refusal(404, 'Not Found: there is no such account (case counts)');
        checkRate(reports, 'for usage');
        return jsonAnswer(
          200,
          await usageReport(context, readUsageQuery(exchange.url.searchParams)),
        );
      },
    },
  ];
}
