import { createHash } from 'node:crypto';
import type { HttpProblem } from '../../http/http-problem.js';
import type { HandlerResponse, RouteTable } from '../../http/router.js';
import { Html, type HtmlValue, html } from './html.js';
import { messageBox } from './page-parts.js';
import { SCRIPT } from './script.js';
import { ICON, STYLE_SHEET } from './style-sheet.js';

export const CONSOLE_HOME = '/console';
export const GRANTS_PATH = '/oauth/grants';

const AREAS = { console: CONSOLE_HOME, accounts: GRANTS_PATH };

export interface HtmlPage {
  readonly title: HtmlValue;
  /** The sentence below the heading. */
  readonly lead?: HtmlValue;
  readonly body: HtmlValue;
  readonly area: keyof typeof AREAS;
  /** The menu. A page with a menu is wide, and loads the script of the console. */
  readonly menu?: Menu | undefined;
  /** The message of the last action, if no part of the body shows it. */
  readonly message?: HtmlValue;
  /** The status of the response; 200 by default. */
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Another origin to which a form of the page may redirect. The `Content-Security-Policy` header must list
   * it, because browsers apply the policy to the redirects of a form, too.
   */
  readonly formTarget?: string | undefined;
}

/**
 * The menu of a page. On a phone, it is closed at first and shows only `current`. On a wide screen, its
 * `entries` are at the side.
 */
export interface Menu {
  readonly current: string;
  readonly entries: HtmlValue;
}

/**
 * The paths of the style sheet, the icon and the script. The URLs of the style sheet and the script contain a
 * digest, so that browsers do not use old versions from their cache.
 */
const STYLE_PATH = '/pages/style.css';
const ICON_PATH = '/pages/icon.svg';
const SCRIPT_PATH = '/pages/script.js';
const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);
const styleAddress = `${STYLE_PATH}?v=${digest(STYLE_SHEET)}`;
const scriptAddress = `${SCRIPT_PATH}?v=${digest(SCRIPT)}`;

function layout({ title, lead, body, area, menu, message }: HtmlPage): Html {
  const isWide = menu !== undefined;
  return html`${new Html('<!DOCTYPE html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${textOf(title)} · Millrace ${area}</title>
<link rel="stylesheet" href="${styleAddress}">
<link rel="icon" href="${ICON_PATH}" type="image/svg+xml">
${isWide && html`<script src="${scriptAddress}" defer></script>`}
</head>
<body class="${isWide ? 'wide' : 'narrow'}">
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="${AREAS[area]}">${wheel}<span>Millrace <span>${area}</span></span></a>
${
  isWide &&
  html`<details class="menu"><summary>Menu <span class="here">${menu.current}</span></summary><div>${menu.entries}</div></details>
<div class="side">${menu.entries}</div>`
}
</header>
<main id="main" tabindex="-1">
${message}
<div class="lead"><h1>${title}</h1>${lead}</div>
${body}
</main>
<footer class="foot">The local service of Millrace.</footer>
</body>
</html>
`;
}

const wheel = new Html(
  ICON.replace('<svg ', '<svg aria-hidden="true" ').replace('#0a8a84', 'currentColor'),
);

/** Removes the tags from the HTML of a title, because the `title` element allows only text. */
function textOf(title: HtmlValue): Html {
  return new Html(html`${title}`.text.replace(/<[^>]*>/g, ''));
}

export function pageResponse(page: HtmlPage): HandlerResponse {
  const { status = 200, headers, menu, formTarget } = page;
  const type = { 'Content-Type': 'text/html; charset=utf-8' };
  return {
    status,
    headers: { ...type, ...securityHeaders(menu !== undefined, formTarget), ...headers },
    body: [Buffer.from(layout(page).text)],
  };
}

/** Returns a redirect after a form (303 See Other), so that reloading does not send the form again. */
export function seeOther(
  location: string,
  headers: Readonly<Record<string, string>> = {},
): HandlerResponse {
  return {
    status: 303,
    headers: { Location: location, ...securityHeaders(), ...headers },
    body: [],
  };
}

export const ASSETS: RouteTable<unknown> = {
  [STYLE_PATH]: asset('text/css; charset=utf-8', STYLE_SHEET),
  [SCRIPT_PATH]: asset('text/javascript; charset=utf-8', SCRIPT),
  [ICON_PATH]: asset('image/svg+xml', ICON),
  // Browsers request this path by default.
  '/favicon.ico': asset('image/svg+xml', ICON),
};

function asset(type: string, text: string) {
  const caching = { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' };
  const headers = { ...securityHeaders(), ...caching };
  return { GET: (): HandlerResponse => ({ status: 200, headers, body: [Buffer.from(text)] }) };
}

/**
 * Returns headers that forbid frames, caching and content of other sites. If `hasScript` is true, the page
 * may run the console's script; otherwise, it may run no script.
 */
function securityHeaders(hasScript = false, formTarget?: string): Record<string, string> {
  const formAction = ["'self'", formTarget].filter(Boolean).join(' ');
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      ...(hasScript ? ["script-src 'self'", "connect-src 'self'"] : []),
      "style-src 'self'",
      "img-src 'self'",
      `form-action ${formAction}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

export function errorPage({ status, message, headers }: HttpProblem, menu?: Menu): HandlerResponse {
  const body = html`<div class="card">${messageBox({ tone: 'bad', text: message })}
<p><a class="button" href="${CONSOLE_HOME}">To the console</a></p></div>`;
  return pageResponse({ title: titleOf(status), body, area: 'console', menu, status, headers });
}

function titleOf(status: number): string {
  if (status === 403) return 'Not done';
  if (status === 404) return 'Not found';
  if (status === 429) return 'Too many tries';
  return status < 500 ? 'That did not work' : 'Something broke';
}
