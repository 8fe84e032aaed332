import { searchErrorBody } from '../http/http-problem.js';
import { type Handler, type Route, routesOf } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import { type SearchParts, searchChecks } from './check-search-request.js';
import { countsPage } from './counts-page.js';
import { searchPage } from './search-page.js';

/** Returns the routes of search data and counts. For the order of their checks, see `check-search-request`. */
export function searchRoutes(context: ServiceContext): readonly Route[] {
  const enter = searchChecks(context);
  return [
    ...routesOf({ endpoint: 'counts', errorBody: searchErrorBody }, COUNTS, enter),
    ...routesOf({ endpoint: 'search', errorBody: searchErrorBody }, DATA, enter),
  ];
}

/** Wraps a handler, so that the usage report counts each request that the handler has answered. */
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
