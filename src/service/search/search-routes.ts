import type { ServiceContext } from '../context.js';
import { searchErrorBody } from '../http/http-problem.js';
import {
  type Endpoint,
  type HttpResponse,
  type RequestContext,
  type Route,
  routesOf,
} from '../http/router.js';
import {
  createSearchRequestReader,
  type Product,
  type SearchRequestReader,
} from './check-search-request.js';
import { countsPage } from './counts-page.js';
import { searchPage } from './search-page.js';

type PageHandler = (
  incoming: RequestContext,
  context: ServiceContext,
  read: SearchRequestReader,
) => Promise<HttpResponse>;

/** Search data and counts. `check-search-request` has the order of checks. */
export function searchRoutes(context: ServiceContext): readonly Route[] {
  const read = createSearchRequestReader(context);
  const routes = (endpoint: Endpoint, pattern: string, page: PageHandler) => {
    const handle = async (incoming: RequestContext) => {
      const response = await page(incoming, context, read);
      context.usage.requested(incoming.path.product as Product);
      return response;
    };
    const table = {
      [`/search/:product/accounts/:account/:label${pattern}`]: { GET: handle, POST: handle },
    };
    return routesOf({ endpoint, errorBody: searchErrorBody }, table, () => undefined);
  };
  return [
    ...routes('counts', '/counts.json', countsPage),
    ...routes('search', '.json', searchPage),
  ];
}
