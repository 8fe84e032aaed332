import { checkHost } from '../http/check-access.js';
import { errorsErrorBody, HttpProblem } from '../http/http-problem.js';
import {
  type Handler,
  type HandlerResponse,
  type RequestContext,
  type Route,
  type RouteTable,
  routesOf,
} from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import type { User } from '../users/grants.js';
import type { OAuthProvider, PendingSignIn, UserGrant } from '../users/oauth-provider.js';
import { type Html, type HtmlValue, html, isolated } from './html/html.js';
import { GRANTS_PATH, type HtmlPage, pageResponse, seeOther } from './html/page.js';
import {
  breakable,
  csrfField,
  instant,
  type Message,
  messageBox,
  placeMessage,
  signInFields,
} from './html/page-parts.js';
import { Sessions, type Visitor } from './html/sessions.js';

interface UserParts extends Visitor<User> {
  readonly oauth: OAuthProvider;
  readonly sessions: Sessions<User>;
}

/**
 * Returns the routes of the pages for end users: sign-in with consent, which is step 2 of OAuth 1.0a, and the
 * list of their grants. `authenticate` skips the consent form if the application already has a grant;
 * `authorize` always shows it.
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
    return { oauth, sessions, ...sessions.visitor(request) };
  });
}

const authenticate: Handler<UserParts> = (incoming, parts) => {
  const { token, pending } = pendingOf(incoming, parts);
  const { user, oauth } = parts;
  // A HEAD request does not use up the request token, because link previews send HEAD requests.
  const isHead = incoming.request.method === 'HEAD';
  return user !== undefined && !isHead && oauth.isGranted(user, pending.application)
    ? allow(token, user, pending, oauth)
    : authorize(incoming, parts);
};

const authorize: Handler<UserParts> = (incoming, parts) => {
  const { pending } = pendingOf(incoming, parts);
  const { user, csrf, headers } = parts;
  if (user === undefined) return askSignIn(incoming, parts, pending);
  const body = consentForm(user, pending, pageAddress(incoming), csrf);
  const formTarget = callbackTarget(pending.callback);
  const title = html`Allow ${isolated(pending.application.name)}?`;
  return userPage(title, body, { headers, formTarget });
};

const decide: Handler<UserParts> = async (incoming, parts) => {
  const { oauth, sessions, user } = parts;
  const { token, pending } = pendingOf(incoming, parts);
  const form = await sessions.readForm(incoming.request);
  switch (form.get('action')) {
    case 'sign-in':
      return signIn(incoming, parts, form, pending);
    case 'sign-out':
      return signOut(incoming, parts);
    case 'deny': {
      const redirect = oauth.deny(token);
      if (redirect !== undefined) return goTo(redirect, pending);
      const body = html`<div class="card"><p>${isolated(pending.application.name)} has been given nothing. You can close this page.</p></div>`;
      return userPage('Not allowed', body);
    }
    case 'allow':
      return user === undefined
        ? askSignIn(incoming, parts, pending)
        : allow(token, user, pending, oauth);
    default:
      throw new HttpProblem(400, 'The form says neither yes nor no.');
  }
};

const showGrants: Handler<UserParts> = (incoming, parts) => {
  const { oauth, sessions, user, csrf } = parts;
  if (user === undefined) return askSignIn(incoming, parts);
  const { rest } = placeMessage(sessions.message(incoming.request, GRANTS_PATH));
  return grantsPage(user, oauth.grantsOf(user), csrf, rest());
};

const changeGrants: Handler<UserParts> = async (incoming, parts) => {
  const { oauth, sessions, user } = parts;
  const { request } = incoming;
  const form = await sessions.readForm(request);
  const action = form.get('action');
  if (action === 'sign-in') return signIn(incoming, parts, form);
  if (action === 'sign-out') return signOut(incoming, parts);
  if (user === undefined) return askSignIn(incoming, parts);
  const application = oauth.applications.find(({ id }) => id === form.get('application'));
  if (action !== 'revoke' || application === undefined)
    throw new HttpProblem(400, 'There is no such application.');
  const { name } = application;
  const message: Message = (await oauth.revoke(user, application))
    ? { tone: 'good', text: `${name} sees no more of your totals.` }
    : { tone: 'bad', text: `${name} had nothing to take back.` };
  sessions.setMessage(request, GRANTS_PATH, message);
  return seeOther(GRANTS_PATH);
};

const TABLE: RouteTable<UserParts> = {
  '/oauth/authenticate': { GET: authenticate, POST: decide },
  '/oauth/authorize': { GET: authorize, POST: decide },
  [GRANTS_PATH]: { GET: showGrants, POST: changeGrants },
};

function pendingOf({ url }: RequestContext, { oauth }: UserParts) {
  const token = url.searchParams.get('oauth_token') ?? '';
  const pending = oauth.pending(token);
  if (pending === undefined)
    throw new HttpProblem(401, 'This sign-in has expired, was used already, or never was.');
  return { token, pending };
}

async function signIn(
  incoming: RequestContext,
  parts: UserParts,
  form: URLSearchParams,
  pending?: PendingSignIn,
): Promise<HandlerResponse> {
  const user = await parts.oauth.signIn(form.get('handle') ?? '', form.get('password') ?? '');
  return user === undefined
    ? askSignIn(incoming, parts, pending, form)
    : seeOther(pageAddress(incoming), parts.sessions.signIn(incoming.request, user));
}

const signOut: Handler<UserParts> = (incoming, { sessions }) =>
  seeOther(pageAddress(incoming), sessions.signOut(incoming.request));

/**
 * Renders the sign-in form.
 *
 * @param pending The sign-in that an application has started; absent if the user opened the list of allowed
 *   applications.
 * @param rejected The last submitted form, if its handle or password was wrong.
 */
async function askSignIn(
  incoming: RequestContext,
  { oauth, csrf, headers }: UserParts,
  pending?: PendingSignIn,
  rejected?: URLSearchParams,
): Promise<HandlerResponse> {
  const name = pending && isolated(pending.application.name);
  const problem = rejected && 'There is no such user, or the password is wrong.';
  const example = await oauth.exampleUser();
  const body = html`<form class="card" method="post" action="${pageAddress(incoming)}">
<p>${name ? html`Sign in to continue to ${name}.` : 'Sign in to see which applications you have allowed something.'}</p>
${csrfField(csrf)}
${signInFields(['handle', 'Handle'], rejected?.get('handle') ?? '', problem)}
<div class="row"><button class="main" name="action" value="sign-in">Sign in</button>${name && html`<button name="action" value="deny" formnovalidate>Cancel</button>`}</div>
${name && html`<p class="hint">${name} does not see your password.</p>`}
<p class="hint">This is a local service: every author of its archive is a user${example && html`, such as ${isolated(`@${example.handle}`)}`}. All have the password of the console, which the service printed when it started, unless <code>${breakable('--user-password')}</code> sets another.</p>
</form>`;
  const formTarget = pending && callbackTarget(pending.callback);
  return userPage('Sign in', body, { status: rejected ? 401 : 200, headers, formTarget });
}

function goTo(redirect: string, { application, callback }: PendingSignIn): HandlerResponse {
  return callbackTarget(callback) === undefined
    ? userPage('Almost done', goOnCard(redirect, application.name))
    : seeOther(redirect);
}

async function allow(
  token: string,
  user: User,
  pending: PendingSignIn,
  oauth: OAuthProvider,
): Promise<HandlerResponse> {
  const approval = await oauth.approve(token, user);
  return 'pin' in approval
    ? userPage('Your PIN', pinCard(approval.pin, pending.application.name))
    : goTo(approval.redirect, pending);
}

function pageAddress({ url }: RequestContext): string {
  const token = url.searchParams.get('oauth_token');
  return token === null
    ? url.pathname
    : `${url.pathname}?${new URLSearchParams({ oauth_token: token })}`;
}

/**
 * Returns the origin of a callback for the `form-action` of a content security policy. Returns `undefined`
 * for a callback that is not a web address, and for an IP address other than 127.0.0.1, which policies cannot
 * match.
 */
export function callbackTarget(callback: string): string | undefined {
  if (!URL.canParse(callback)) return undefined;
  const { protocol, hostname, origin } = new URL(callback);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  const isName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(hostname) && !/^[\d.]+$/.test(hostname);
  return isWeb && (isName || hostname === '127.0.0.1') ? origin : undefined;
}

/** Returns a page for an end user. Unlike other pages, it has no links to the console. */
function userPage(
  title: HtmlValue,
  body: HtmlValue,
  rest?: Pick<HtmlPage, 'message' | 'status' | 'headers' | 'formTarget'>,
): HandlerResponse {
  return pageResponse({ title, body, area: 'accounts', ...rest });
}

function userErrorPage({ status, message, headers }: HttpProblem): HandlerResponse {
  const body = html`<div class="card">${messageBox({ tone: 'bad', text: message })}
<p>Go back to the application and start again, or look at <a href="${GRANTS_PATH}">what you have allowed</a>.</p></div>`;
  const title = status < 500 ? 'That did not work' : 'Something broke';
  return userPage(title, body, { status, headers });
}

function nameOf({ name, handle }: User): Html {
  return html`<strong>${isolated(name)}</strong> <span class="quiet">${isolated(`@${handle}`)}</span>`;
}

function consentForm(
  user: User,
  { application, callback }: PendingSignIn,
  action: string,
  csrf: string,
): Html {
  const { name, approved } = application;
  return html`<form class="card" method="post" action="${action}">${csrfField(csrf)}
<p>You are signed in as ${nameOf(user)}.</p>
<section class="stack" aria-labelledby="may"><h2 id="may">It will be able to see</h2>
<ul class="allows"><li>how often your own posts were liked, shared and answered</li></ul></section>
<section class="stack" aria-labelledby="not"><h2 id="not">It will not be able to</h2>
<ul class="allows not"><li>post, like or follow for you</li><li>read your messages</li><li>see your password</li></ul></section>
${!approved && html`<p class="hint">The operator of the service has not approved ${isolated(name)} yet: until then it sees nothing, whatever you allow.</p>`}
<div class="row"><button class="main" name="action" value="allow">Allow</button>
<button name="action" value="deny">Do not allow</button>
<button class="plain" name="action" value="sign-out">Someone else</button></div>
<p class="hint">${returnTo(callback)} You can take it back at any time.</p>
</form>`;
}

function returnTo(callback: string): Html {
  return callback === 'oob'
    ? html`You will be shown a PIN to type into the application.`
    : html`You will go back to <strong>${isolated(new URL(callback).host)}</strong>.`;
}

/** Shows the PIN that the user must type into an application that has no callback URL. */
function pinCard(pin: string, name: string): Html {
  return html`<div class="card"><p>Type this PIN into ${isolated(name)}. It is good once, and for a few minutes.</p>
<p class="pin" aria-label="PIN">${pin}</p><p class="hint">You can close this page then.</p></div>`;
}

/**
 * Renders a link to a callback. Needed if the content security policy cannot name the callback, because
 * browsers then do not let a form redirect to it.
 */
function goOnCard(redirect: string, name: string): Html {
  return html`<div class="card"><p>Go back to ${isolated(name)} to continue.</p>
<p><a class="button" href="${redirect}">Continue to ${new URL(redirect).host}</a></p></div>`;
}

function grantsPage(
  user: User,
  grants: readonly UserGrant[],
  csrf: string,
  message: HtmlValue,
): HandlerResponse {
  const body = html`<div class="card"><p>You are signed in as ${nameOf(user)}.</p>
<form method="post" action="${GRANTS_PATH}">${csrfField(csrf)}<div class="row"><button class="plain" name="action" value="sign-out">Sign out</button></div></form></div>
${grants.length === 0 ? html`<p class="card empty">You have allowed nothing to anyone. An application asks you when it sends you here.</p>` : grants.map(grant => grantCard(grant, csrf))}`;
  return userPage('Your applications', body, { message });
}

function grantCard({ application: { id, name }, grantedAt }: UserGrant, csrf: string): Html {
  return html`<article class="card" aria-labelledby="application-${id}"><h2 id="application-${id}">${isolated(name)}</h2>
<p>Sees how often your posts were liked, shared and answered, since ${instant(grantedAt)}.</p>
<form method="post" action="${GRANTS_PATH}">${csrfField(csrf)}<input type="hidden" name="application" value="${id}">
<div class="row"><button class="danger" name="action" value="revoke">Take back<span class="unseen"> from ${name}</span></button></div></form></article>`;
}
