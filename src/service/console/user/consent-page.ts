import type { User } from '../../users/grants.js';
import type { PendingSignIn } from '../../users/oauth-provider.js';
import { type Html, html, isolated } from '../html/html.js';
import { csrfField } from '../html/page-parts.js';
import { nameOf } from './user-pages.js';

export interface Consent {
  /** Where the form goes. */
  readonly action: string;
  readonly csrf: string;
  readonly user: User;
  readonly pending: PendingSignIn;
}

/** What an application asks a user for (service.md 4.8, step 2). */
export function consentForm({ action, csrf, user, pending }: Consent): Html {
  const { application, callback } = pending;
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

/** What the user types into an application that no browser can call back. */
export function pinCard(pin: string, name: string): Html {
  return html`<div class="card"><p>Type this PIN into ${isolated(name)}. It is good once, and for a few minutes.</p>
<p class="pin" aria-label="PIN">${pin}</p><p class="hint">You can close this page then.</p></div>`;
}

/** For callbacks to which a form may not lead by itself. */
export function goOnCard(redirect: string, name: string): Html {
  return html`<div class="card"><p>Go back to ${isolated(name)} to go on.</p>
<p><a class="button" href="${redirect}">Go on to ${new URL(redirect).host}</a></p></div>`;
}
