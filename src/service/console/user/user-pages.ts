import type { HttpProblem } from '../../http/http-problem.js';
import type { HttpResponse } from '../../http/http-response.js';
import type { User } from '../../users/grants.js';
import { type Html, type HtmlValue, html, isolated } from '../html/html.js';
import { layout } from '../html/layout.js';
import { csrfField } from '../html/page-parts.js';
import { type PageOptions, pageResponse } from '../html/page-response.js';

/** Where users see what they have granted. */
export const GRANTS_PATH = '/oauth/grants';

/** A page for an end user, who knows nothing of the console. */
export function userPage(
  title: HtmlValue,
  body: HtmlValue,
  { notice, ...options }: PageOptions & { readonly notice?: string | undefined } = {},
): HttpResponse {
  const place = 'accounts';
  const page = layout({ title, body, area: place, home: GRANTS_PATH, shape: 'narrow', notice });
  return pageResponse(page, options);
}

export function userErrorPage({ status, message, headers }: HttpProblem): HttpResponse {
  const body = html`<div class="card"><p class="alarm" role="alert">${message}</p>
<p>Go back to the application and start again, or look at <a href="${GRANTS_PATH}">what you have allowed</a>.</p></div>`;
  return userPage(status < 500 ? 'That did not work' : 'Something broke', body, {
    status,
    headers,
  });
}

export interface UserSignIn {
  /** Where the form goes. */
  readonly action: string;
  readonly csrf: string;
  /** What it is for. */
  readonly about: HtmlValue;
  readonly handle?: string | undefined;
  readonly problem?: string | undefined;
  /** Another way out. */
  readonly otherwise?: HtmlValue;
}

export function userSignInForm(form: UserSignIn): Html {
  const { action, csrf, about, handle = '', problem, otherwise } = form;
  const wrong = problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`;
  return html`<form class="card" method="post" action="${action}">
<p>${about}</p>
${problem !== undefined && html`<p class="alarm" role="alert" id="problem">${problem}</p>`}
${csrfField(csrf)}
<div class="field"><label for="handle">Handle</label>
<input id="handle" name="handle" type="text" value="${handle}" autocomplete="username" autocapitalize="none" spellcheck="false" required${wrong}></div>
<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${wrong}></div>
<button class="main" name="action" value="sign-in">Sign in</button>
${otherwise}
</form>`;
}

/** A person as others see them. */
export function nameOf({ name, handle }: User): Html {
  return html`<strong>${isolated(name)}</strong> <span class="quiet">${isolated(`@${handle}`)}</span>`;
}
