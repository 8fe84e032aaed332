import type { IncomingMessage } from 'node:http';
import { MINUTE, SECOND } from '../../base/time.js';
import { isLogin, isSameSecret } from '../http/check-access.js';
import { checkRate, RateWindow } from '../http/quotas.js';
import type { Handler, HandlerResponse } from '../http/router.js';
import type { ServiceSettings } from '../service-options.js';
import { html } from './html/html.js';
import { CONSOLE_HOME, pageResponse, seeOther } from './html/page.js';
import { csrfField, secretField, signInFields } from './html/page-parts.js';
import type { Sessions } from './html/sessions.js';

export const SIGN_IN = '/console/sign-in';

export interface SignInParts {
  readonly settings: ServiceSettings;
  readonly sessions: Sessions<string>;
  readonly failures: RateWindow;
}

/**
 * Shows the sign-in form. On start, the service prints a link that contains the token. A request with this
 * token signs the visitor in without the form.
 */
export const showSignIn: Handler<SignInParts> = ({ request, url }, parts) => {
  const { sessions, settings, failures } = parts;
  const next = consoleAddress(url.searchParams.get('next'));
  if (sessions.visitor(request).user !== undefined) return seeOther(next);
  const token = url.searchParams.get('token');
  // A HEAD request does not sign in, because link previews send HEAD requests.
  if (settings.token === undefined || token === null || request.method === 'HEAD')
    return formPage(request, parts, next);
  checkFailures(failures);
  if (isSameSecret(token, settings.token))
    return signedInPage(next, sessions.signIn(request, settings.email));
  failures.count();
  return formPage(request, parts, next, WRONG_TOKEN);
};

export const checkSignIn: Handler<SignInParts> = async ({ request }, parts) => {
  const { settings, sessions, failures } = parts;
  const form = await sessions.readForm(request);
  checkFailures(failures);
  const next = consoleAddress(form.get('next'));
  const given = (name: string) => form.get(name) ?? '';
  const hasLogin = settings.token === undefined;
  const isRight = hasLogin
    ? isLogin({ email: given('email'), password: given('password') }, settings)
    : isSameSecret(given('token'), settings.token);
  if (isRight) return seeOther(next, sessions.signIn(request, settings.email));
  failures.count();
  return formPage(request, parts, next, hasLogin ? WRONG_LOGIN : WRONG_TOKEN, given('email'));
};

const WRONG_LOGIN = 'That is not the email and password of this account.';
const WRONG_TOKEN =
  'That is not the token of this service. It prints another one at each start, unless it was given one.';

/**
 * Renders a separate page that leads to the console, instead of a redirect. After a redirect, a
 * browser that came from another site would not send the cookie.
 */
function signedInPage(next: string, headers: Readonly<Record<string, string>>): HandlerResponse {
  const body = html`<div class="card"><p><a class="button" href="${next}">To the console</a></p></div>`;
  const refresh = { ...headers, Refresh: `0; url=${next}` };
  return pageResponse({ title: 'Signed in', body, area: 'console', headers: refresh });
}

/**
 * Shows the sign-in form. If the service has a token, the form asks for the token. The default login would
 * not be safe, because everyone knows it.
 *
 * @param problem The reason why the last attempt failed, if there was one.
 */
function formPage(
  request: IncomingMessage,
  { sessions, settings }: SignInParts,
  next: string,
  problem?: string,
  email = '',
): HandlerResponse {
  const { csrf, headers } = sessions.visitor(request);
  const hasToken = settings.token !== undefined;
  const body = html`<form class="card" method="post" action="${SIGN_IN}">
${csrfField(csrf)}<input type="hidden" name="next" value="${next}">
${hasToken ? secretField('token', 'Token', problem) : signInFields(['email', 'Email', html` inputmode="email"`], email, problem)}
<button class="main">Sign in</button>
<p class="hint">${hasToken ? 'The service printed the token when it started.' : 'The login that your programs use. The service printed it when it started.'}</p>
</form>`;
  const status = problem === undefined ? 200 : 401;
  return pageResponse({ title: 'Sign in', body, area: 'console', status, headers });
}

/**
 * Returns the address if it is a page of the console, and otherwise the first page. Without this check, a
 * link to the sign-in page could redirect to another site.
 */
function consoleAddress(next: string | null): string {
  if (next === null || !/^\/console(?:\/[\w/%.:-]*)?(?:\?[!-~]*)?$/.test(next)) return CONSOLE_HOME;
  // Refuses the path segments `.` and `..`, also if they are percent-encoded, because browsers resolve them
  // and could leave `/console`. Node's `URL` is not used for this, because it does not resolve `..` in
  // `/console/.x/..`.
  const [path = ''] = next.split('?');
  return /\/(\.|%2e){1,2}(\/|$)/i.test(path) ? CONSOLE_HOME : next;
}

/** After this many wrong passwords in a minute, further attempts are refused. */
const MAX_FAILURES = 10;

/**
 * Limits failed sign-ins, to slow down password guessing. Uses real time, so that moving the clock does not
 * lift the limit.
 */
export function failedSignIns(): RateWindow {
  return new RateWindow({ requests: MAX_FAILURES, perMs: MINUTE }, { now: () => Date.now() });
}

/** @throws HttpProblem 429 with `Retry-After` after too many failures. */
export function checkFailures(failures: RateWindow): void {
  const message = () =>
    `Too many sign-ins failed. Try again in ${Math.ceil(failures.wait() / SECOND)} s.`;
  checkRate([failures], message, { count: false });
}
