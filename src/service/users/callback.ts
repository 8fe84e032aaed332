/** In place of a callback: the page shows a PIN, for programs that no browser can call back. */
export const OUT_OF_BAND = 'oob';

/**
 * Whether a callback is one of those that are registered: the same but for its query. Where none is
 * registered, any address of this machine is, with any port, and `oob`.
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

/** Where the browser goes to: the callback with more in its query. */
export function withQuery(callback: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(callback);
  const own = url.search.slice(1);
  // The callback's own query stays as it came, byte for byte.
  url.search = [...(own === '' ? [] : [own]), String(new URLSearchParams(parameters))].join('&');
  return url.href;
}

/** No other scheme, no password, and no fragment, in which what is added would get lost. */
function webAddress(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || /[\s\\]/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !text.includes('#') ? url : undefined;
}

/** `URL` has already brought every spelling of an address to one. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
