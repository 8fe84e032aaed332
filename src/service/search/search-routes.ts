import type { ServiceContext } from '../context.js';
import { searchErrorBody } from '../http/http-problem.js';
import type { HttpResponse } from '../http/http-response.js';
import type { RequestContext, Route } from '../http/router.js';
import type { ProductName } from '../products.js';
import { countsPage } from './counts.js';
import { searchPage } from './search.js';
import { createSearchRequestReader, type SearchRequestReader } from './search-request.js';

type PageHandler = (
  incoming: RequestContext,
  context: ServiceContext,
  read: SearchRequestReader,
) => Promise<HttpResponse>;

/** Search data and counts. */
export function searchRoutes(context: ServiceContext): readonly Route[] {
  const read = createSearchRequestReader(context);
  const route = (endpoint: 'search' | 'counts', pattern: string, page: PageHandler): Route => ({
    endpoint,
    methods: ['GET', 'POST'],
    pattern,
    errorBody: searchErrorBody,
    async handle(incoming) {
      const response = await page(incoming, context, read);
      context.usage.requested(incoming.path.product as ProductName);
      return response;
    },
  });
  const base = '/search/:product/accounts/:account/:label';
  return [
    route('counts', `${base}/counts.json`, countsPage),
    route('search', `${base}.json`, searchPage),
  ];
}
