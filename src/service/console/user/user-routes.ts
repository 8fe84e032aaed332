import { errorsErrorBody, HttpProblem } from '../../http/http-problem.js';
import type { HttpResponse, RequestContext, Route } from '../../http/router.js';
import type { User } from '../../users/grants.js';
import type { OAuthProvider, PendingSignIn } from '../../users/oauth-provider.js';
import { html, isolated } from '../html/html.js';
import { placeMessage } from '../html/message.js';
import { seeOther } from '../html/page-response.js';
import { checkHost, readForm } from '../html/read-form.js';
import { Sessions } from '../html/sessions.js';
import {
  consentForm,
  GRANTS_PATH,
  goOnCard,
  grantsPage,
  pinCard,
  userErrorPage,
  userPage,
  userSignInForm,
} from './user-pages.js';

const WRONG_LOGIN = 'There is no such user, or the password is wrong.';

/**
 * The pages for end users: sign-in with consent, which is step 2 of OAuth 1.0a, and their grants.
 * `authenticate` skips the question if the application already has a grant; `authorize` always asks.
 */
export function userRoutes({ oauth }: { readonly oauth: OAuthProvider }): readonly Route[] {
  const sessions = new Sessions<User>('millrace-user', '/oauth');

  const signIn = async (
    incoming: RequestContext,
    form: URLSearchParams,
  ): Promise<HttpResponse | undefined> => {
    const user = await oauth.signIn(form.get('handle') ?? '', form.get('password') ?? '');
    return user && seeOther(pageAddress(incoming), sessions.signIn(incoming.request, user));
  };

  const askSignIn = async (
    incoming: RequestContext,
    { application, callback }: PendingSignIn,
    rejected?: URLSearchParams,
  ): Promise<HttpResponse> => {
    const { csrf, headers } = sessions.visitor(incoming.request);
    const name = isolated(application.name);
    const body = userSignInForm({
      action: pageAddress(incoming),
      csrf,
      about: html`Sign in to go on to ${name}.`,
      handle: rejected?.get('handle') ?? '',
      problem: rejected && WRONG_LOGIN,
      example: await oauth.exampleUser(),
      otherButton: html`<button name="action" value="deny" formnovalidate>Cancel</button>`,
      footer: html`<p class="hint">${name} does not see your password.</p>`,
    });
    const status = rejected === undefined ? 200 : 401;
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
    const { user } = sessions.visitor(request);
    switch (form.get('action')) {
      case 'sign-in':
        return (await signIn(incoming, form)) ?? askSignIn(incoming, pending, form);
      case 'sign-out':
        return seeOther(pageAddress(incoming), sessions.signOut(request));
      case 'deny': {
        const redirect = oauth.deny(token);
        if (redirect !== undefined) return goTo(redirect, pending);
        const body = html`<div class="card"><p>${isolated(pending.application.name)} has been given nothing. You can close this page.</p></div>`;
        return userPage('Not allowed', body);
      }
      case 'allow':
        return user === undefined ? askSignIn(incoming, pending) : allow(token, user, pending);
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
    const { user, csrf, headers } = sessions.visitor(request);
    if (user === undefined) return askSignIn(incoming, pending);
    // A HEAD request, as link previews send, must not use the token up.
    const skipsQuestion = !alwaysAsks && request.method !== 'HEAD';
    if (skipsQuestion && oauth.isGranted(user, pending.application))
      return allow(token, user, pending);
    const body = consentForm({ action: pageAddress(incoming), csrf, user: user, pending });
    const formTarget = callbackTarget(pending.callback);
    const title = html`Allow ${isolated(pending.application.name)}?`;
    return userPage(title, body, { headers, formTarget });
  };

  const grants = async (incoming: RequestContext): Promise<HttpResponse> => {
    const { request, method } = incoming;
    const { user, csrf, headers } = sessions.visitor(request);
    const ask = async (rejected?: URLSearchParams) =>
      userPage(
        'Sign in',
        userSignInForm({
          action: GRANTS_PATH,
          csrf,
          about: 'Sign in to see which applications you have allowed something.',
          handle: rejected?.get('handle') ?? '',
          problem: rejected && WRONG_LOGIN,
          example: await oauth.exampleUser(),
        }),
        { status: rejected === undefined ? 200 : 401, headers },
      );
    if (method === 'GET') {
      if (user === undefined) return ask();
      const { rest } = placeMessage(sessions.message(request, GRANTS_PATH));
      return grantsPage(user, oauth.grantsOf(user), csrf, rest());
    }
    const form = await readForm(request, sessions);
    const action = form.get('action');
    if (action === 'sign-in') return (await signIn(incoming, form)) ?? ask(form);
    if (action === 'sign-out') return seeOther(GRANTS_PATH, sessions.signOut(request));
    if (user === undefined) return ask();
    const application = oauth.applications.find(({ id }) => id === form.get('application'));
    if (action !== 'revoke' || application === undefined)
      throw new HttpProblem(400, 'There is no such application.');
    const wasGranted = await oauth.revoke(user, application);
    sessions.setMessage(request, GRANTS_PATH, {
      tone: wasGranted ? 'good' : 'bad',
      text: wasGranted
        ? `${application.name} sees no more of your totals.`
        : `${application.name} had nothing to take back.`,
    });
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

/** The URL of the page, for its forms. */
function pageAddress({ url }: RequestContext): string {
  const token = url.searchParams.get('oauth_token');
  return token === null
    ? url.pathname
    : `${url.pathname}?${new URLSearchParams({ oauth_token: token })}`;
}

/**
 * The origin of a callback for the `form-action` of a content security policy; undefined if a policy
 * cannot name it: 127.0.0.1 is the only IP address that policies can match.
 */
export function callbackTarget(callback: string): string | undefined {
  if (!URL.canParse(callback)) return undefined;
  const { protocol, hostname, origin } = new URL(callback);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  const isName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(hostname) && !/^[\d.]+$/.test(hostname);
  return isWeb && (isName || hostname === '127.0.0.1') ? origin : undefined;
}
