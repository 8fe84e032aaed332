import type { Answer } from '../http/answer.js';
import { checkLogin } from '../http/check-login.js';
import { checkRate } from '../http/check-rate.js';
import { Refusal, searchErrorBody } from '../http/problem.js';
import type { Exchange, Route } from '../http/router.js';
import type { ServiceContext } from '../service.js';
import type { ProductName } from '../usage/products.js';
import { countsPage } from './counts.js';
import { createNextTokens, type NextTokens } from './next-token.js';
import { searchPage } from './search.js';

type PageHandler = (
  exchange: Exchange,
  context: ServiceContext,
  tokens: NextTokens,
) => Promise<Answer>;

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
    async handle(exchange) {
      checkCaller(exchange, context);
      checkRate(windows, 'over data and counts requests');
      const answer = await page(exchange, context, tokens);
      context.usage.requested(exchange.path.product as ProductName);
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
function checkCaller(exchange: Exchange, { settings }: ServiceContext): void {
  checkLogin(exchange, settings);
  const { path } = exchange;
  const isHere =
    (path.product === '30day' || path.product === 'fullarchive') &&
    path.account === settings.account &&
    path.label === settings.label;
  if (!isHere)
    throw new Refusal(404, 'Not Found: there is no such product, account or label (case counts)');
}
