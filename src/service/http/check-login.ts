import type { Settings } from '../service-settings.js';
import { isAuthorized } from './basic-auth.js';
import { HttpProblem } from './http-problem.js';
import type { RequestContext } from './router.js';

/** @throws HttpProblem 401 without HTTP Basic and the credentials of the console. */
export function checkLogin({ request }: RequestContext, settings: Settings): void {
  if (!isAuthorized(request.headers.authorization, settings))
    throw new HttpProblem(401, 'Unauthorized: Invalid credentials', {
      'WWW-Authenticate': 'Basic realm="millrace", charset="UTF-8"',
    });
}
