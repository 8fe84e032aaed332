import type { HttpResponse } from '../../http/http-response.js';
import type { Html } from './html.js';

export interface PageOptions {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where else a form of the page may lead, by a redirect: browsers hold these to the policy too. */
  readonly formTarget?: string | undefined;
}

/** A page for people. */
export function pageResponse(page: Html, options: PageOptions = {}): HttpResponse {
  const { status = 200, headers, formTarget } = options;
  return {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      ...guards(formTarget),
      ...headers,
    },
    body: [Buffer.from(page.text)],
  };
}

/** "See other": what a form answers with, so that a reload sends nothing twice. */
export function seeOther(
  location: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { status: 303, headers: { Location: location, ...guards(), ...headers }, body: [] };
}

/** A file of the pages themselves: no one's data. */
export function assetResponse(type: string, text: string): HttpResponse {
  return {
    status: 200,
    headers: { ...guards(), 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' },
    body: [Buffer.from(text)],
  };
}

/** No scripts, nothing of other sites, no frames, no traces of a page elsewhere. */
function guards(formTarget?: string): Record<string, string> {
  const formAction = ["'self'", formTarget].filter(Boolean).join(' ');
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
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
