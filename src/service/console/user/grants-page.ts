import type { HttpResponse } from '../../http/http-response.js';
import type { User } from '../../users/grants.js';
import type { UserGrant } from '../../users/oauth-provider.js';
import { type Html, html, isolated } from '../html/html.js';
import { csrfField, instant } from '../html/page-parts.js';
import { GRANTS_PATH, nameOf, userPage } from './user-pages.js';

/** What a user has allowed, each to be taken back. */
export function grantsPage(
  user: User,
  grants: readonly UserGrant[],
  csrf: string,
  notice: string | undefined,
): HttpResponse {
  const body = html`<div class="card"><p>You are signed in as ${nameOf(user)}.</p>
<form method="post" action="${GRANTS_PATH}">${csrfField(csrf)}<div class="row"><button class="plain" name="action" value="sign-out">Sign out</button></div></form></div>
${grants.length === 0 ? html`<p class="card empty">You have allowed nothing to anyone.</p>` : grants.map(grant => grantCard(grant, csrf))}`;
  return userPage('Your applications', body, { notice });
}

function grantCard({ application: { id, name }, grantedAt }: UserGrant, csrf: string): Html {
  return html`<article class="card" aria-labelledby="application-${id}"><h2 id="application-${id}">${isolated(name)}</h2>
<p>Sees how often your posts were liked, shared and answered, since ${instant(grantedAt)}.</p>
<form method="post" action="${GRANTS_PATH}">${csrfField(csrf)}<input type="hidden" name="application" value="${id}">
<div class="row"><button class="danger" name="action" value="revoke">Take back<span class="unseen"> from ${name}</span></button></div></form></article>`;
}
