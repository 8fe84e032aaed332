import { isLoopback } from '../../is-loopback.js';

/** Instead of a callback URL: the page shows a PIN, for programs that a browser cannot redirect to. */
export const OUT_OF_BAND = 'oob';

/**
 * Whether a callback is registered. The query is not compared. By default, `oob` and all loopback
 * addresses with any port are registered.
 */
export function isRegistered(callback: string, registered: readonly string[] | undefined): boolean {
  if (callback === OUT_OF_BAND) return registered?.includes(OUT_OF_BAND) ?? true;
  const url = webAddress(callback);
  if (url === undefined) return false;
  if (registered === undefined) return isLoopback(url.hostname);
  return registered.some(address => {
    const known = webAddress(address);
    return known !== undefined && known.origin === url.origin && known.pathname === url.pathname;
  });
}

/** The callback with parameters added to its query. */
export function withQuery(callback: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(callback);
  // The existing query stays as it is, byte for byte.
  const existing = url.search.slice(1);
  const added = String(new URLSearchParams(parameters));
  url.search = existing === '' ? added : `${existing}&${added}`;
  return url.href;
}

/** An http(s) URL without credentials, and without a fragment, after which added parameters are lost. */
function webAddress(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || /[\s\\]/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !text.includes('#') ? url : undefined;
}
