import type { ServiceContext } from '../context.js';
import { checkLogin } from '../http/check-login.js';
import { checkRate, rateExceeded } from '../http/check-rate.js';
import { HttpProblem, searchErrorBody } from '../http/http-problem.js';
import type { HttpResponse } from '../http/http-response.js';
import type { RequestContext, Route } from '../http/router.js';
import type { ProductName } from '../products.js';
import { countsPage } from './counts.js';
import { createNextTokens, type NextTokens } from './next-token.js';
import { searchPage } from './search.js';

type PageHandler = (
  incoming: RequestContext,
  context: ServiceContext,
  tokens: NextTokens,
) => Promise<HttpResponse>;

/** Search data and counts (service.md 4.1, 4.2), which share one rate. */
export function searchRoutes(context: ServiceContext): readonly Route[] {
  const tokens = createNextTokens(context.settings.seed);
  const windows = [
    context.quotas.window('searchRate'),
    context.quotas.window('searchPerMinuteRate'),
  ];
  const route = (endpoint: 'search' | 'counts', pattern: string, page: PageHandler): Route => ({
    endpoint,
    methods: ['GET', 'POST'],
    pattern,
    errorBody: searchErrorBody,
    async handle(incoming) {
      checkCaller(incoming, context);
      checkRate(windows, rateExceeded('over data and counts requests'));
      const answer = await page(incoming, context, tokens);
      context.usage.requested(incoming.path.product as ProductName);
      return answer;
    },
  });
  const base = '/search/:product/accounts/:account/:label';
  return [
    route('counts', `${base}/counts.json`, countsPage),
    route('search', `${base}.json`, searchPage),
  ];
}

/** The credentials come first: who has none learns nothing of accounts and labels. */
function checkCaller(incoming: RequestContext, { settings }: ServiceContext): void {
  checkLogin(incoming, settings);
  const { path } = incoming;
  const isHere =
    (path.product === '30day' || path.product === 'fullarchive') &&
    path.account === settings.account &&
    path.label === settings.label;
  if (!isHere)
    throw new HttpProblem(
      404,
      'Not Found: there is no such product, account or label (case counts)',
    );
}
