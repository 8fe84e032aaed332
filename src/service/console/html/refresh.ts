import { type Html, html } from './html.js';
import { withParameters } from './pager.js';

const OFFERED_SECONDS = 5;
const MAX_SECONDS = 3_600;

/** How often the browser is to load the page again; undefined for a page that it loads once. */
export function refreshSeconds({ searchParams }: URL): number | undefined {
  const asked = searchParams.get('refresh') ?? '';
  const seconds = /^\d{1,4}$/.test(asked) ? Number(asked) : 0;
  return seconds >= 1 && seconds <= MAX_SECONDS ? seconds : undefined;
}

/** Links that load a page again, once or every few seconds. They need no script: the response says when. */
export function refreshLinks(url: URL): Html {
  const seconds = refreshSeconds(url);
  return html`<p class="refresh">${
    seconds === undefined
      ? html`<a href="${url.pathname + url.search}">Refresh</a> <a href="${withParameters(url, { refresh: String(OFFERED_SECONDS) })}">Refresh every ${OFFERED_SECONDS} s</a>`
      : html`<span class="state busy">refreshes every ${seconds} s</span> <a href="${withParameters(url, { refresh: undefined })}">Stop</a>`
  }</p>`;
}
