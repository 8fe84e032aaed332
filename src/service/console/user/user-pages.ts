import type { HttpProblem } from '../../http/http-problem.js';
import type { HttpResponse } from '../../http/router.js';
import type { User } from '../../users/grants.js';
import type { PendingSignIn, UserGrant } from '../../users/oauth-provider.js';
import { type Html, type HtmlValue, html, isolated } from '../html/html.js';
import { layout, type PageOptions, pageResponse } from '../html/page.js';
import { breakable, csrfField, messageBox, signInFields } from '../html/page-parts.js';
import { instant } from '../html/units.js';

/** The page that lists a user's grants. */
export const GRANTS_PATH = '/oauth/grants';

/** A page for an end user, without links to the console. */
export function userPage(
  title: HtmlValue,
  body: HtmlValue,
  { message, ...options }: PageOptions & { readonly message?: HtmlValue } = {},
): HttpResponse {
  const page = layout({
    title,
    body,
    area: 'accounts',
    home: GRANTS_PATH,
    shape: 'narrow',
    message,
  });
  return pageResponse(page, options);
}

export function userErrorPage({ status, message, headers }: HttpProblem): HttpResponse {
  const body = html`<div class="card">${messageBox({ tone: 'bad', text: message })}
<p>Go back to the application and start again, or look at <a href="${GRANTS_PATH}">what you have allowed</a>.</p></div>`;
  return userPage(status < 500 ? 'That did not work' : 'Something broke', body, {
    status,
    headers,
  });
}

export interface UserSignIn {
  /** The URL that the form is sent to. */
  readonly action: string;
  readonly csrf: string;
  /** The text above the fields. */
  readonly about: HtmlValue;
  readonly handle?: string | undefined;
  readonly problem?: string | undefined;
  /** A user that can sign in, named in a hint. */
  readonly example: User | undefined;
  /** Next to the button. */
  readonly otherButton?: HtmlValue;
  /** Below the buttons. */
  readonly footer?: HtmlValue;
}

export function userSignInForm(form: UserSignIn): Html {
  const { action, csrf, about, handle = '', problem, example, otherButton, footer } = form;
  return html`<form class="card" method="post" action="${action}">
<p>${about}</p>
${csrfField(csrf)}
${signInFields(['handle', 'Handle'], handle, problem)}
<div class="row"><button class="main" name="action" value="sign-in">Sign in</button>${otherButton}</div>
${footer}
<p class="hint">This is a local service: every author of its archive is a user${example !== undefined && html`, such as ${isolated(`@${example.handle}`)}`}. All have the password of the console, which the service printed when it started, unless <code>${breakable('--user-password')}</code> sets another.</p>
</form>`;
}

/** Name and handle. */
function nameOf({ name, handle }: User): Html {
  return html`<strong>${isolated(name)}</strong> <span class="quiet">${isolated(`@${handle}`)}</span>`;
}

/** Asks the user to allow or deny an application. */
export function consentForm(
  user: User,
  { application, callback }: PendingSignIn,
  { action, csrf }: Pick<UserSignIn, 'action' | 'csrf'>,
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

/** Shows the PIN that the user types into an application without a callback URL. */
export function pinCard(pin: string, name: string): Html {
  return html`<div class="card"><p>Type this PIN into ${isolated(name)}. It is good once, and for a few minutes.</p>
<p class="pin" aria-label="PIN">${pin}</p><p class="hint">You can close this page then.</p></div>`;
}

/** Links to a callback that the content security policy cannot name as a form target. */
export function goOnCard(redirect: string, name: string): Html {
  return html`<div class="card"><p>Go back to ${isolated(name)} to go on.</p>
<p><a class="button" href="${redirect}">Go on to ${new URL(redirect).host}</a></p></div>`;
}

/** Lists a user's grants, each with a button to revoke it. */
export function grantsPage(
  user: User,
  grants: readonly UserGrant[],
  csrf: string,
  message: HtmlValue,
): HttpResponse {
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
