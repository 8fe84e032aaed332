import type { IncomingMessage } from 'node:http';
import { isLoopbackHost } from '../../http/check-access.js';
import { HttpProblem } from '../../http/http-problem.js';
import { readBody } from '../../http/request-body.js';
import type { Sessions } from './sessions.js';

const MAX_FORM_BYTES = 64 * 1024;

/** Refuses requests to any other name than this machine's: a site whose name resolves to it could read the pages. */
export function checkHost({ headers }: IncomingMessage): void {
  if (!isLoopbackHost(headers.host))
    throw new HttpProblem(421, 'Misdirected Request: this service answers at 127.0.0.1 only');
}

/**
 * Reads a form of one of the pages.
 *
 * @throws HttpProblem 415 or 413 if it is not a form or too large, 403 if another site sent it.
 */
export async function readForm<Who>(
  request: IncomingMessage,
  sessions: Sessions<Who>,
): Promise<URLSearchParams> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new HttpProblem(415, 'Unsupported Media Type: expected a form');
  if (!isSameOrigin(request)) throw new HttpProblem(403, CROSS_SITE);
  const form = new URLSearchParams((await readBody(request, MAX_FORM_BYTES)).toString());
  if (!sessions.isFormToken(request, form.get('csrf'))) throw new HttpProblem(403, CROSS_SITE);
  return form;
}

const CROSS_SITE =
  'This form did not come from a page that you have open here, or you have signed out since. ' +
  'Nothing was changed. Go back, load the page again, and send the form once more.';

/** Reads the headers that browsers add. `Origin` is `null`, since the pages send no referrer. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  const { origin = 'null', host } = headers;
  return (
    (site === 'same-origin' || site === 'none') &&
    (origin === 'null' || origin === `http://${host}`)
  );
}
