import type { IncomingMessage } from 'node:http';
import type { ServiceContext } from '../../context.js';
import { checkHost } from '../../http/check-access.js';
import { errorsErrorBody, HttpProblem } from '../../http/http-problem.js';
import {
  type Handler,
  type HttpResponse,
  type RequestContext,
  type Route,
  type RouteTable,
  routesOf,
} from '../../http/router.js';
import type { User } from '../../users/grants.js';
import type { OAuthProvider, PendingSignIn } from '../../users/oauth-provider.js';
import { html, isolated } from '../html/html.js';
import { seeOther } from '../html/page.js';
import { placeMessage } from '../html/page-parts.js';
import { Sessions } from '../html/sessions.js';
import {
  consentForm,
  GRANTS_PATH,
  goOnCard,
  grantsPage,
  pinCard,
  type UserSignIn,
  userErrorPage,
  userPage,
  userSignInForm,
} from './user-pages.js';

/** What the pages for end users use. */
interface UserParts {
  readonly oauth: OAuthProvider;
  readonly sessions: Sessions<User>;
}

/**
 * The pages for end users: sign-in with consent, which is step 2 of OAuth 1.0a, and their grants.
 * `authenticate` skips the question if the application already has a grant; `authorize` always asks.
 */
export function userRoutes({ oauth, settings }: ServiceContext): readonly Route[] {
  const sessions = new Sessions<User>('millrace-user', '/oauth');
  const family = {
    endpoint: 'oauth',
    errorBody: errorsErrorBody,
    errorPage: userErrorPage,
  } as const;
  return routesOf(family, TABLE, ({ request }) => {
    checkHost(request, settings);
    return { oauth, sessions };
  });
}

const authenticate: Handler<UserParts> = (incoming, parts) => {
  const { token, pending } = pendingOf(incoming, parts);
  const { user } = parts.sessions.visitor(incoming.request);
  // A HEAD request, as link previews send, must not use the token up.
  const isHead = incoming.request.method === 'HEAD';
  return user !== undefined && !isHead && parts.oauth.isGranted(user, pending.application)
    ? allow(token, user, pending, parts)
    : authorize(incoming, parts);
};

const authorize: Handler<UserParts> = (incoming, parts) => {
  const { pending } = pendingOf(incoming, parts);
  const { user, csrf, headers } = parts.sessions.visitor(incoming.request);
  if (user === undefined) return askSignIn(incoming, pending, parts);
  const body = consentForm(user, pending, { action: pageAddress(incoming), csrf });
  const formTarget = callbackTarget(pending.callback);
  const title = html`Allow ${isolated(pending.application.name)}?`;
  return userPage(title, body, { headers, formTarget });
};

const decide: Handler<UserParts> = async (incoming, parts) => {
  const { oauth, sessions } = parts;
  const { token, pending } = pendingOf(incoming, parts);
  const { request } = incoming;
  const form = await sessions.readForm(request);
  const { user } = sessions.visitor(request);
  switch (form.get('action')) {
    case 'sign-in':
      return (await signIn(incoming, form, parts)) ?? askSignIn(incoming, pending, parts, form);
    case 'sign-out':
      return seeOther(pageAddress(incoming), sessions.signOut(request));
    case 'deny': {
      const redirect = oauth.deny(token);
      if (redirect !== undefined) return goTo(redirect, pending);
      const body = html`<div class="card"><p>${isolated(pending.application.name)} has been given nothing. You can close this page.</p></div>`;
      return userPage('Not allowed', body);
    }
    case 'allow':
      return user === undefined
        ? askSignIn(incoming, pending, parts)
        : allow(token, user, pending, parts);
    default:
      throw new HttpProblem(400, 'The form says neither yes nor no.');
  }
};

const showGrants: Handler<UserParts> = ({ request }, parts) => {
  const { oauth, sessions } = parts;
  const { user, csrf } = sessions.visitor(request);
  if (user === undefined) return askForGrants(request, parts);
  const { rest } = placeMessage(sessions.message(request, GRANTS_PATH));
  return grantsPage(user, oauth.grantsOf(user), csrf, rest());
};

const changeGrants: Handler<UserParts> = async (incoming, parts) => {
  const { oauth, sessions } = parts;
  const { request } = incoming;
  const { user } = sessions.visitor(request);
  const form = await sessions.readForm(request);
  const action = form.get('action');
  if (action === 'sign-in')
    return (await signIn(incoming, form, parts)) ?? askForGrants(request, parts, form);
  if (action === 'sign-out') return seeOther(GRANTS_PATH, sessions.signOut(request));
  if (user === undefined) return askForGrants(request, parts);
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

const TABLE: RouteTable<UserParts> = {
  '/oauth/authenticate': { GET: authenticate, POST: decide },
  '/oauth/authorize': { GET: authorize, POST: decide },
  [GRANTS_PATH]: { GET: showGrants, POST: changeGrants },
};

/** The sign-in of the request token in the address. */
function pendingOf({ url }: RequestContext, { oauth }: UserParts) {
  const token = url.searchParams.get('oauth_token') ?? '';
  const pending = oauth.pending(token);
  if (pending === undefined)
    throw new HttpProblem(401, 'This sign-in has expired, was used already, or never was.');
  return { token, pending };
}

async function signIn(
  incoming: RequestContext,
  form: URLSearchParams,
  { oauth, sessions }: UserParts,
): Promise<HttpResponse | undefined> {
  const user = await oauth.signIn(form.get('handle') ?? '', form.get('password') ?? '');
  return user && seeOther(pageAddress(incoming), sessions.signIn(incoming.request, user));
}

async function askSignIn(
  incoming: RequestContext,
  { application, callback }: PendingSignIn,
  parts: UserParts,
  rejected?: URLSearchParams,
): Promise<HttpResponse> {
  const name = isolated(application.name);
  const form = {
    action: pageAddress(incoming),
    about: html`Sign in to go on to ${name}.`,
    otherButton: html`<button name="action" value="deny" formnovalidate>Cancel</button>`,
    footer: html`<p class="hint">${name} does not see your password.</p>`,
  };
  return signInPage(incoming.request, form, parts, rejected, callbackTarget(callback));
}

function askForGrants(
  request: IncomingMessage,
  parts: UserParts,
  rejected?: URLSearchParams,
): Promise<HttpResponse> {
  const about = 'Sign in to see which applications you have allowed something.';
  return signInPage(request, { action: GRANTS_PATH, about }, parts, rejected);
}

/** @param rejected The form of a sign-in that failed. */
async function signInPage(
  request: IncomingMessage,
  form: Pick<UserSignIn, 'action' | 'about' | 'otherButton' | 'footer'>,
  { oauth, sessions }: UserParts,
  rejected?: URLSearchParams,
  formTarget?: string,
): Promise<HttpResponse> {
  const { csrf, headers } = sessions.visitor(request);
  const body = userSignInForm({
    ...form,
    csrf,
    handle: rejected?.get('handle') ?? '',
    problem: rejected && 'There is no such user, or the password is wrong.',
    example: await oauth.exampleUser(),
  });
  return userPage('Sign in', body, {
    status: rejected === undefined ? 200 : 401,
    headers,
    formTarget,
  });
}

function goTo(redirect: string, { application, callback }: PendingSignIn): HttpResponse {
  return callbackTarget(callback) === undefined
    ? userPage('Almost done', goOnCard(redirect, application.name))
    : seeOther(redirect);
}

async function allow(
  token: string,
  user: User,
  pending: PendingSignIn,
  { oauth }: UserParts,
): Promise<HttpResponse> {
  const approval = await oauth.approve(token, user);
  return 'pin' in approval
    ? userPage('Your PIN', pinCard(approval.pin, pending.application.name))
    : goTo(approval.redirect, pending);
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
