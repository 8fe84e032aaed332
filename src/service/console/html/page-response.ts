import type { HttpResponse } from '../../http/router.js';
import type { Html } from './html.js';

export interface PageOptions {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Another origin that a form of the page may redirect to; browsers check redirects, too. */
  readonly formTarget?: string | undefined;
}

/** A page as an HTML response. */
export function pageResponse(page: Html, options: PageOptions = {}): HttpResponse {
  const { status = 200, headers, formTarget } = options;
  return {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      ...securityHeaders(formTarget),
      ...headers,
    },
    body: [Buffer.from(page.text)],
  };
}

/** A redirect after a form (303 See Other), so that a reload does not send the form again. */
export function seeOther(
  location: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    status: 303,
    headers: { Location: location, ...securityHeaders(), ...headers },
    body: [],
  };
}

/** A static file of the pages, without user data. */
export function assetResponse(type: string, text: string): HttpResponse {
  return {
    status: 200,
    headers: {
      ...securityHeaders(),
      'Content-Type': type,
      'Cache-Control': 'public, max-age=3600',
    },
    body: [Buffer.from(text)],
  };
}

/** Security headers: no scripts, no content of other sites, no frames, no caching. */
function securityHeaders(formTarget?: string): Record<string, string> {
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
