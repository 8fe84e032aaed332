import type { Settings } from '../service-options.js';
import { isAuthorized } from './basic-auth.js';
import { HttpProblem } from './http-problem.js';
import type { RequestContext } from './router.js';

/** HTTP Basic with the credentials of a console login (service.md section 5): else 401. */
export function checkLogin({ request }: RequestContext, settings: Settings): void {
  if (!isAuthorized(request.headers.authorization, settings))
    throw new HttpProblem(401, 'Unauthorized: Invalid credentials', {
      'WWW-Authenticate': 'Basic realm="millrace", charset="UTF-8"',
    });
}
