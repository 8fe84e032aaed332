import type { Answer } from '../../http/answer.js';
import { errorsErrorBody, Refusal } from '../../http/problem.js';
import type { Exchange, Route } from '../../http/router.js';
import type { User } from '../../users/grants.js';
import type { OAuthProvider, PendingSignIn } from '../../users/oauth-provider.js';
import { checkHost, readForm } from '../check-page-request.js';
import { foreign, html } from '../html/html.js';
import { seeOther } from '../html/page-answer.js';
import { Sessions } from '../sessions.js';
import { callbackTarget } from './callback-target.js';
import { consentForm, goOnCard, pinCard } from './consent-page.js';
import { grantsPage } from './grants-page.js';
import { GRANTS_PATH, userErrorPage, userPage, userSignInForm } from './user-page.js';

const WRONG = 'There is no such user, or the password is wrong.';

/**
 * What an end user sees: the sign-in with consent (service.md 4.8, step 2), and what was granted.
 * `authenticate` goes on at once for who has granted before; `authorize` always asks.
 */
export function userRoutes({ oauth }: { readonly oauth: OAuthProvider }): readonly Route[] {
  const sessions = new Sessions<User>('millrace-user', '/oauth');

  const signIn = async (exchange: Exchange, form: URLSearchParams): Promise<Answer | undefined> => {
    const user = await oauth.signIn(form.get('handle') ?? '', form.get('password') ?? '');
    return user && seeOther(here(exchange), sessions.signIn(exchange.request, user));
  };

  const sign = (
    exchange: Exchange,
    { application, callback }: PendingSignIn,
    refused?: URLSearchParams,
  ): Answer => {
    const { csrf, headers } = sessions.visitor(exchange.request);
    const name = foreign(application.name);
    const body = userSignInForm({
      action: here(exchange),
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

  const goTo = (redirect: string, { application, callback }: PendingSignIn): Answer =>
    callbackTarget(callback) === undefined
      ? userPage('Almost done', goOnCard(redirect, application.name))
      : seeOther(redirect);

  const allow = async (token: string, user: User, pending: PendingSignIn): Promise<Answer> => {
    const approval = await oauth.approve(token, user);
    return 'pin' in approval
      ? userPage('Your PIN', pinCard(approval.pin, pending.application.name))
      : goTo(approval.redirect, pending);
  };

  const decide = async (
    exchange: Exchange,
    token: string,
    pending: PendingSignIn,
  ): Promise<Answer> => {
    const { request } = exchange;
    const form = await readForm(request, sessions);
    const { who } = sessions.visitor(request);
    switch (form.get('action')) {
      case 'sign-in':
        return (await signIn(exchange, form)) ?? sign(exchange, pending, form);
      case 'sign-out':
        return seeOther(here(exchange), sessions.signOut(request));
      case 'deny': {
        const redirect = oauth.deny(token);
        if (redirect !== undefined) return goTo(redirect, pending);
        const body = html`<div class="card"><p>${foreign(pending.application.name)} has been given nothing. You can close this page.</p></div>`;
        return userPage('Not allowed', body);
      }
      case 'allow':
        return who === undefined ? sign(exchange, pending) : allow(token, who, pending);
      default:
        throw new Refusal(400, 'The form says neither yes nor no.');
    }
  };

  const consent = (alwaysAsks: boolean) => (exchange: Exchange) => {
    const { request, url, method } = exchange;
    const token = url.searchParams.get('oauth_token') ?? '';
    const pending = oauth.pending(token);
    if (pending === undefined)
      throw new Refusal(401, 'This sign-in has expired, was used already, or never was.');
    if (method === 'POST') return decide(exchange, token, pending);
    const { who, csrf, headers } = sessions.visitor(request);
    if (who === undefined) return sign(exchange, pending);
    // HEAD, with which link checkers and previews look, must use nothing up.
    const goesOn = !alwaysAsks && request.method !== 'HEAD';
    if (goesOn && oauth.isGranted(who, pending.application)) return allow(token, who, pending);
    const body = consentForm({ action: here(exchange), csrf, user: who, pending });
    const formTarget = callbackTarget(pending.callback);
    const title = html`Allow ${foreign(pending.application.name)}?`;
    return userPage(title, body, { headers, formTarget });
  };

  const grants = async (exchange: Exchange): Promise<Answer> => {
    const { request, method } = exchange;
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
    if (action === 'sign-in') return (await signIn(exchange, form)) ?? ask(form);
    if (action === 'sign-out') return seeOther(GRANTS_PATH, sessions.signOut(request));
    if (who === undefined) return ask();
    const application = oauth.applications.find(({ id }) => id === form.get('application'));
    if (action !== 'revoke' || application === undefined)
      throw new Refusal(400, 'There is no such application.');
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
    handle(exchange) {
      checkHost(exchange.request);
      return handle(exchange);
    },
  });
  return [
    route('/oauth/authenticate', consent(false)),
    route('/oauth/authorize', consent(true)),
    route(GRANTS_PATH, grants),
  ];
}

/** The page itself, for its own forms. */
function here({ url }: Exchange): string {
  const token = url.searchParams.get('oauth_token');
  return token === null
    ? url.pathname
    : `${url.pathname}?${new URLSearchParams({ oauth_token: token })}`;
}
