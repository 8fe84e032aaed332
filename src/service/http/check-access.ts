import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../base/is-loopback.js';
import type { ServiceSettings } from '../service-options.js';
import { HttpProblem } from './http-problem.js';
import type { RequestContext } from './router.js';

/**
 * Refuses a request with wrong credentials, or with an unknown name in its path, such as another account.
 * Every endpoint of the account calls this first.
 *
 * @param names For each name in the path, the value or the values that are allowed.
 * @throws HttpProblem 401 if the HTTP Basic credentials are not the email and password of `settings`; 404 if
 * a name has another value.
 */
export function checkAccountAccess(
  { request, path }: RequestContext,
  settings: ServiceSettings,
  names: Readonly<Record<string, string | readonly string[]>>,
): void {
  if (!isAuthorized(request.headers.authorization, settings))
    throw new HttpProblem(401, 'Unauthorized: Invalid credentials', {
      'WWW-Authenticate': 'Basic realm="millrace", charset="UTF-8"',
    });
  for (const [name, known] of Object.entries(names))
    if (![known].flat().includes(path[name] ?? '')) {
      const all = Object.keys(names)
        .join(', ')
        .replace(/, (\w+)$/, ' or $1');
      throw new HttpProblem(404, `Not Found: there is no such ${all} (case counts)`);
    }
}

type Credentials = Pick<ServiceSettings, 'email' | 'password'>;

export function isAuthorized(header: string | undefined, right: Credentials): boolean {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(header ?? '')?.[1] ?? '';
  return isSame(Buffer.from(encoded, 'base64'), right);
}

export function isLogin({ email, password }: Credentials, right: Credentials): boolean {
  // Refuses an email with a colon. Otherwise, the email `a:b` with the password `c` would equal the email `a`
  // with the password `b:c`.
  return !email.includes(':') && isSame(Buffer.from(`${email}:${password}`), right);
}

function isSame(given: Uint8Array, { email, password }: Credentials): boolean {
  return isSameSecret(given, `${email}:${password}`);
}

/** Compares digests, which have equal lengths, so that the duration does not depend on the secret. */
export function isSameSecret(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(secret: string | Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest();
}

export function isBearer(header: string | undefined, token: string): boolean {
  const [, given = ''] = /^bearer +([^ ]+) *$/i.exec(header ?? '') ?? [];
  return isSameSecret(given, token);
}

/**
 * Refuses a request whose `Host` is not a name of this machine. Otherwise, a web site whose name resolves to
 * this machine could read the pages (DNS rebinding). A service with a token accepts any name, because such a
 * site knows neither the token nor the cookie of a session.
 */
export function checkHost(
  { headers }: IncomingMessage,
  { token }: Pick<ServiceSettings, 'token'>,
): void {
  if (token === undefined && !isLoopbackHost(headers.host))
    throw new HttpProblem(421, 'Misdirected Request: this service answers at 127.0.0.1 only');
}

/**
 * Returns the origin of the URL that the client has called, for use in URLs of the response. A client outside
 * of a container uses a different host name and port than a client inside it. Returns `undefined` for a
 * service without a token, because such a service listens only on loopback.
 *
 * @throws HttpProblem 400 for a `Host` header that does not name a host
 */
export function originOf(
  { headers }: IncomingMessage,
  { token }: Pick<ServiceSettings, 'token'>,
): string | undefined {
  if (token === undefined) return undefined;
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  const url = `${scheme}://${headers.host}`;
  if (!/^[\w.:[\]-]+$/.test(headers.host ?? '') || !URL.canParse(url))
    throw new HttpProblem(400, 'Bad Request: the Host header is not a host');
  return new URL(url).origin;
}

/**
 * Returns whether a `Host` header, with or without a port, is a name of this machine. Any other name may belong
 * to a site that resolves to this machine (DNS rebinding).
 */
export function isLoopbackHost(host = ''): boolean {
  return isLoopback(host.replace(/:\d+$/, '').toLowerCase());
}
