import type { HttpProblem } from '../../http/http-problem.js';
import type { HttpResponse } from '../../http/router.js';
import { type Html, type HtmlValue, html } from './html.js';
import { layout } from './layout.js';
import { messageBox } from './message.js';
import { pageResponse } from './page-response.js';

/** The first page of the console. */
export const HOME = '/console';

/** Shows an error as a page. */
export function errorPage({ status, message, headers }: HttpProblem): HttpResponse {
  const body = html`<div class="card">${messageBox({ tone: 'bad', text: message })}
<p><a class="button" href="${HOME}">To the console</a></p></div>`;
  return pageResponse(plainPage({ title: titleOf(status), body }), { status, headers });
}

function titleOf(status: number): string {
  if (status === 403) return 'Not done';
  if (status === 404) return 'Not found';
  if (status === 429) return 'Too many tries';
  return status < 500 ? 'That did not work' : 'Something broke';
}

/** A page without the menu, for visitors who are not signed in. */
export function plainPage(page: { readonly title: string; readonly body: HtmlValue }): Html {
  return layout({ ...page, area: 'console', home: HOME, shape: 'narrow' });
}
