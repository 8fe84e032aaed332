import type { Window } from '../../base/time.js';
import type { ServiceContext } from '../context.js';
import { checkAccountAccess } from '../http/check-access.js';
import { searchErrorBody } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { type Handler, type RequestContext, type Route, routesOf } from '../http/router.js';
import {
  readParameters,
  SEARCH_PRODUCTS,
  type SearchParts,
  type SearchProduct,
} from './check-search-request.js';
import { countsPage } from './counts-page.js';
import { searchPage } from './search-page.js';

/**
 * Search data and counts, which share their rates. The order of checks:
 * 1. the credentials: 401;
 * 2. product, account and label: 404;
 * 3. the rates: 429;
 * 4. the body is a JSON object: 413, 415, 400;
 * 5. the parameters, all at once: 422;
 * 6. `next` belongs to this request: 422.
 */
export function searchRoutes(context: ServiceContext): readonly Route[] {
  const { settings, quotas } = context;
  const { account, label } = settings;
  const windows = [quotas.window('searchRate'), quotas.window('searchPerMinuteRate')];
  const cutPages = new Map<string, Window>();
  const enter = async (incoming: RequestContext): Promise<SearchParts> => {
    checkAccountAccess(incoming, settings, { product: SEARCH_PRODUCTS, account, label });
    checkRate(windows, rateExceeded('over data and counts requests'));
    const given = await readParameters(incoming);
    return { context, product: incoming.path.product as SearchProduct, given, cutPages };
  };
  return [
    ...routesOf({ endpoint: 'counts', errorBody: searchErrorBody }, COUNTS, enter),
    ...routesOf({ endpoint: 'search', errorBody: searchErrorBody }, DATA, enter),
  ];
}

/** A page of which the request counts for the usage report once it was answered. */
const counted =
  (page: Handler<SearchParts>): Handler<SearchParts> =>
  async (incoming, parts) => {
    const response = await page(incoming, parts);
    parts.context.usage.requested(parts.product);
    return response;
  };

const BASE = '/search/:product/accounts/:account/:label';
const COUNTS = { [`${BASE}/counts.json`]: { GET: counted(countsPage), POST: counted(countsPage) } };
const DATA = { [`${BASE}.json`]: { GET: counted(searchPage), POST: counted(searchPage) } };
