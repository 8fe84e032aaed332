import { createHmac } from 'node:crypto';

/** A name and its value, decoded; names may repeat. */
export type Parameter = readonly [name: string, value: string];

/** The signed parts of a request. */
export interface Signed {
  readonly method: string;
  /** As requested. The query is signed, the fragment is not. */
  readonly url: string;
  /** Of the header, without `realm`, and of a form in the body. `oauth_signature` is ignored. */
  readonly parameters: readonly Parameter[];
}

/** The signature base string (RFC 5849 section 3.4.1). */
export function signatureBaseString({ method, url, parameters }: Signed): string {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^([a-z]+):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const all = [...parseForm(query), ...parameters].filter(([name]) => name !== 'oauth_signature');
  const normalized = all
    .map(([name, value]): Parameter => [percentEncode(name), percentEncode(value)])
    .sort(byBytes)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const baseUri = `${scheme.toLowerCase()}://${hostOf(scheme, authority)}${path === '' ? '/' : path}`;
  return [method.toUpperCase(), baseUri, normalized].map(percentEncode).join('&');
}

/** The HMAC-SHA1 signature (RFC 5849 section 3.4.2) in base64. Without a token, its secret is empty. */
export function signatureOf(signed: Signed, consumerSecret: string, tokenSecret = ''): string {
  const key = `${percentEncode(consumerSecret)}&${percentEncode(tokenSecret)}`;
  return createHmac('sha1', key).update(signatureBaseString(signed)).digest('base64');
}

/** Encodes everything except letters, digits, `-`, `.`, `_` and `~` (RFC 5849 section 3.6). */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The parameters of a query or a form body, in order.
 *
 * @throws URIError if they are not percent-encoded UTF-8.
 */
export function parseForm(text: string): readonly Parameter[] {
  return text
    .split('&')
    .filter(part => part !== '')
    .map(part => {
      const equals = part.indexOf('=');
      const name = equals === -1 ? part : part.slice(0, equals);
      return [decodeForm(name), equals === -1 ? '' : decodeForm(part.slice(equals + 1))];
    });
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

/** In lower case, without the default port of the scheme. */
function hostOf(scheme: string, authority: string): string {
  const port = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  const host = authority.toLowerCase();
  return host.endsWith(port) ? host.slice(0, -port.length) : host;
}

/** Percent-encoded text is ASCII, so comparing strings compares bytes. */
function byBytes([nameA, valueA]: Parameter, [nameB, valueB]: Parameter): number {
  if (nameA !== nameB) return nameA < nameB ? -1 : 1;
  if (valueA === valueB) return 0;
  return valueA < valueB ? -1 : 1;
}

/**
 * The decoded parameters of an `Authorization` header with the scheme OAuth (RFC 5849 section 3.5.1),
 * without `realm`. Undefined for another scheme; `malformed` for a syntax error.
 */
export function parseAuthorization(
  header: string | undefined,
): readonly Parameter[] | 'malformed' | undefined {
  const [, rest] = /^OAuth(?: +(.*))?$/is.exec(header ?? '') ?? [];
  if (rest === undefined) return /^OAuth\b/i.test(header ?? '') ? 'malformed' : undefined;
  const parameters: Parameter[] = [];
  const one = /\s*([^\s=,"]+)="([^"]*)"\s*(,|$)/y;
  while (one.lastIndex < rest.length) {
    const match = one.exec(rest);
    if (match === null) return 'malformed';
    const [, name = '', value = ''] = match;
    if (name.toLowerCase() === 'realm') continue;
    try {
      parameters.push([decodeURIComponent(name), decodeURIComponent(value)]);
    } catch {
      return 'malformed';
    }
  }
  return parameters;
}
