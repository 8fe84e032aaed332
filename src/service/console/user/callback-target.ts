/**
 * The origin of a callback as a content policy can name it, so that a form may lead there; nothing
 * where no policy can: of addresses in digits they know 127.0.0.1 alone.
 */
export function callbackTarget(callback: string): string | undefined {
  if (!URL.canParse(callback)) return undefined;
  const { protocol, hostname, origin } = new URL(callback);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  const isName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(hostname) && !/^[\d.]+$/.test(hostname);
  return isWeb && (isName || hostname === '127.0.0.1') ? origin : undefined;
}
