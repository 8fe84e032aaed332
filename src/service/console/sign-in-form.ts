import type { Shown } from './console-page.js';
import { html } from './html/html.js';
import { csrfField } from './html/page-parts.js';

export interface SignInForm {
  readonly csrf: string;
  /** Where to go afterwards. */
  readonly next: string;
  readonly problem: string | undefined;
}

export function signInForm({ csrf, next, problem }: SignInForm): Shown {
  return {
    title: 'Sign in',
    body: html`<form class="card" method="post" action="/console/sign-in">
${problem !== undefined && html`<p class="alarm" role="alert" id="problem">${problem}</p>`}
${csrfField(csrf)}<input type="hidden" name="next" value="${next}">
<div class="field"><label for="email">Email</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" required${invalid(problem)}></div>
<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${invalid(problem)}></div>
<button class="main">Sign in</button>
<p class="hint">The login that your programs use. The service printed it when it started.</p>
</form>`,
  };
}

function invalid(problem: string | undefined) {
  return problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`;
}
