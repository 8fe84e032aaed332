import type { Parameter } from './signature.js';

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
