import type { IncomingMessage } from 'node:http';
import { HttpProblem } from '../../http/http-problem.js';
import { readBody } from '../../http/request-body.js';
import type { Sessions } from './sessions.js';

const MAX_FORM_BYTES = 64 * 1024;

/**
 * Pages answer under the names of this machine only: a site whose name was made to point here would
 * otherwise read them as its own.
 */
export function checkHost({ headers: { host = '' } }: IncomingMessage): void {
  if (!/^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d+)?$/i.test(host))
    throw new HttpProblem(421, 'Misdirected Request: this service answers at 127.0.0.1 only');
}

/**
 * The fields of a form that one of the pages sent.
 *
 * @throws Refusal 415 and 413 for what is no form, 403 for one that another site made.
 */
export async function readForm<Who>(
  request: IncomingMessage,
  sessions: Sessions<Who>,
): Promise<URLSearchParams> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new HttpProblem(415, 'Unsupported Media Type: expected a form');
  if (!isFromHere(request)) throw new HttpProblem(403, STRANGE);
  const form = new URLSearchParams((await readBody(request, MAX_FORM_BYTES)).toString());
  if (!sessions.isFormToken(request, form.get('csrf'))) throw new HttpProblem(403, STRANGE);
  return form;
}

const STRANGE =
  'This form did not come from a page that you have open here, or you have signed out since. ' +
  'Nothing was changed. Go back, load the page again, and send the form once more.';

/** What browsers say themselves. `Origin` is `null` here, since the pages allow no referrer. */
function isFromHere({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  const { origin = 'null', host } = headers;
  return (
    (site === 'same-origin' || site === 'none') &&
    (origin === 'null' || origin === `http://${host}`)
  );
}
