import type { Settings } from '../service-settings.js';
import { checkLogin } from './check-login.js';
import { HttpProblem } from './http-problem.js';
import { acceptsGzip } from './http-response.js';
import type { RequestContext } from './router.js';

/** Checks the credentials (401), then the names in the path (404). */
export function checkStreamPath(incoming: RequestContext, settings: Settings, label: string): void {
  checkLogin(incoming, settings);
  const { path } = incoming;
  if (
    path.account !== settings.account ||
    path.publisher !== settings.publisher ||
    path.label !== label
  )
    throw new HttpProblem(
      404,
      'Not Found: there is no such account, publisher or label (case counts)',
    );
}

/** Streams are only sent as gzip. @throws HttpProblem 406 for a client that does not accept it. */
export function checkGzip({ request }: RequestContext): void {
  if (!acceptsGzip(request.headers['accept-encoding']))
    throw new HttpProblem(
      406,
      'This connection requires compression. To enable compression, send an ' +
        "'Accept-Encoding: gzip' header in your request and be ready to uncompress the stream as " +
        'it is read on the client end.',
    );
}
