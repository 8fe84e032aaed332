import { errorsErrorBody, HttpProblem } from '../../http/http-problem.js';
import type { HttpResponse } from '../../http/http-response.js';
import type { RequestContext, Route } from '../../http/router.js';
import type { User } from '../../users/grants.js';
import type { OAuthProvider, PendingSignIn } from '../../users/oauth-provider.js';
import { html, isolated } from '../html/html.js';
import { seeOther } from '../html/page-response.js';
import { checkHost, readForm } from '../html/read-form.js';
import { Sessions } from '../html/sessions.js';
import { callbackTarget } from './callback-target.js';
import { consentForm, goOnCard, pinCard } from './consent-page.js';
import { grantsPage } from './grants-page.js';
import { GRANTS_PATH, userErrorPage, userPage, userSignInForm } from './user-pages.js';

const WRONG = 'There is no such user, or the password is wrong.';

/**
 * What an end user sees: the sign-in with consent (service.md 4.8, step 2), and what was granted.
 * `authenticate` goes on at once for who has granted before; `authorize` always asks.
 */
export function userRoutes({ oauth }: { readonly oauth: OAuthProvider }): readonly Route[] {
  const sessions = new Sessions<User>('millrace-user', '/oauth');

  const signIn = async (
    incoming: RequestContext,
    form: URLSearchParams,
  ): Promise<HttpResponse | undefined> => {
    const user = await oauth.signIn(form.get('handle') ?? '', form.get('password') ?? '');
    return user && seeOther(here(incoming), sessions.signIn(incoming.request, user));
  };

  const sign = (
    incoming: RequestContext,
    { application, callback }: PendingSignIn,
    refused?: URLSearchParams,
  ): HttpResponse => {
    const { csrf, headers } = sessions.visitor(incoming.request);
    const name = isolated(application.name);
    const body = userSignInForm({
      action: here(incoming),
      csrf,
      about: html`Sign in to go on to ${name}.`,
      handle: refused?.get('handle') ?? '',
      problem: refused && WRONG,
      otherwise: html`<button name="action" value="deny" formnovalidate>Cancel</button>
<p class="hint">${name} does not see your password.</p>`,
    });
    const status = refused === undefined ? 200 : 401;
    return userPage('Sign in', body, { status, headers, formTarget: callbackTarget(callback) });
  };

  const goTo = (redirect: string, { application, callback }: PendingSignIn): HttpResponse =>
    callbackTarget(callback) === undefined
      ? userPage('Almost done', goOnCard(redirect, application.name))
      : seeOther(redirect);

  const allow = async (
    token: string,
    user: User,
    pending: PendingSignIn,
  ): Promise<HttpResponse> => {
    const approval = await oauth.approve(token, user);
    return 'pin' in approval
      ? userPage('Your PIN', pinCard(approval.pin, pending.application.name))
      : goTo(approval.redirect, pending);
  };

  const decide = async (
    incoming: RequestContext,
    token: string,
    pending: PendingSignIn,
  ): Promise<HttpResponse> => {
    const { request } = incoming;
    const form = await readForm(request, sessions);
    const { who } = sessions.visitor(request);
    switch (form.get('action')) {
      case 'sign-in':
        return (await signIn(incoming, form)) ?? sign(incoming, pending, form);
      case 'sign-out':
        return seeOther(here(incoming), sessions.signOut(request));
      case 'deny': {
        const redirect = oauth.deny(token);
        if (redirect !== undefined) return goTo(redirect, pending);
        const body = html`<div class="card"><p>${isolated(pending.application.name)} has been given nothing. You can close this page.</p></div>`;
        return userPage('Not allowed', body);
      }
      case 'allow':
        return who === undefined ? sign(incoming, pending) : allow(token, who, pending);
      default:
        throw new HttpProblem(400, 'The form says neither yes nor no.');
    }
  };

  const consent = (alwaysAsks: boolean) => (incoming: RequestContext) => {
    const { request, url, method } = incoming;
    const token = url.searchParams.get('oauth_token') ?? '';
    const pending = oauth.pending(token);
    if (pending === undefined)
      throw new HttpProblem(401, 'This sign-in has expired, was used already, or never was.');
    if (method === 'POST') return decide(incoming, token, pending);
    const { who, csrf, headers } = sessions.visitor(request);
    if (who === undefined) return sign(incoming, pending);
    // HEAD, with which link checkers and previews look, must use nothing up.
    const goesOn = !alwaysAsks && request.method !== 'HEAD';
    if (goesOn && oauth.isGranted(who, pending.application)) return allow(token, who, pending);
    const body = consentForm({ action: here(incoming), csrf, user: who, pending });
    const formTarget = callbackTarget(pending.callback);
    const title = html`Allow ${isolated(pending.application.name)}?`;
    return userPage(title, body, { headers, formTarget });
  };

  const grants = async (incoming: RequestContext): Promise<HttpResponse> => {
    const { request, method } = incoming;
    const { who, csrf, headers } = sessions.visitor(request);
    const ask = (refused?: URLSearchParams) =>
      userPage(
        'Sign in',
        userSignInForm({
          action: GRANTS_PATH,
          csrf,
          about: 'Sign in to see which applications you have allowed something.',
          handle: refused?.get('handle') ?? '',
          problem: refused && WRONG,
        }),
        { status: refused === undefined ? 200 : 401, headers },
      );
    if (method === 'GET') {
      if (who === undefined) return ask();
      return grantsPage(who, oauth.grantsOf(who), csrf, sessions.told(request));
    }
    const form = await readForm(request, sessions);
    const action = form.get('action');
    if (action === 'sign-in') return (await signIn(incoming, form)) ?? ask(form);
    if (action === 'sign-out') return seeOther(GRANTS_PATH, sessions.signOut(request));
    if (who === undefined) return ask();
    const application = oauth.applications.find(({ id }) => id === form.get('application'));
    if (action !== 'revoke' || application === undefined)
      throw new HttpProblem(400, 'There is no such application.');
    const wasGranted = await oauth.revoke(who, application);
    sessions.tell(
      request,
      wasGranted
        ? `${application.name} sees no more of your totals.`
        : `${application.name} had nothing to take back.`,
    );
    return seeOther(GRANTS_PATH);
  };

  const route = (pattern: string, handle: Route['handle']): Route => ({
    endpoint: 'oauth',
    methods: ['GET', 'POST'],
    pattern,
    errorBody: errorsErrorBody,
    errorPage: userErrorPage,
    handle(incoming) {
      checkHost(incoming.request);
      return handle(incoming);
    },
  });
  return [
    route('/oauth/authenticate', consent(false)),
    route('/oauth/authorize', consent(true)),
    route(GRANTS_PATH, grants),
  ];
}

/** The page itself, for its own forms. */
function here({ url }: RequestContext): string {
  const token = url.searchParams.get('oauth_token');
  return token === null
    ? url.pathname
    : `${url.pathname}?${new URLSearchParams({ oauth_token: token })}`;
}
