import { createHmac } from 'node:crypto';
import { SECOND } from '../../base/time.js';
import type { Clock } from '../clock.js';
import { isSameSecret, originOf } from '../http/check-access.js';
import { HttpProblem } from '../http/http-problem.js';
import { readBody } from '../http/read-request.js';
import type { RequestContext } from '../http/router.js';
import type { ServiceSettings } from '../service-options.js';
import type { Application } from './applications.js';
import { NonceFile, Nonces } from './nonces.js';
import type { OAuthProvider } from './oauth-provider.js';

/** A verified request. Its parameters are signed. Its body is signed only if it is a form. */
export interface SignedRequest {
  readonly application: Application;
  readonly token: string | undefined;
  /**
   * The parameters of the `Authorization` header, of the query, and of the body if it is a form, by name.
   * Each parameter has one value.
   */
  readonly parameters: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface SignedRequestOptions {
  readonly maxBodyBytes: number;
  /** Returns the secret of the application's token. If this function is absent, the request must not have a token. */
  tokenSecret?(token: string, application: Application): string | undefined;
  readonly tokenUnknown?: string | undefined;
}

const REQUIRED = [
  'oauth_consumer_key',
  'oauth_nonce',
  'oauth_signature',
  'oauth_signature_method',
  'oauth_timestamp',
] as const;

/** Parameters that many clients, such as oauth-1.0a and twitter-lite, send both in the header and in the form. */
const OFTEN_REPEATED: ReadonlySet<string> = new Set([
  'oauth_callback',
  'oauth_token',
  'oauth_verifier',
]);

/**
 * Verifies requests signed with OAuth 1.0a (RFC 5849). The checks are, in order, with status 401 unless another
 * is given:
 * 1. the scheme, the syntax and the required parameters of the header;
 * 2. the body: 413, 415; a form in it: 400;
 * 3. that no `oauth_` parameter is repeated, except with the same value in the header and in the form: 400;
 * 4. the version and the method of the signature, and the consumer key;
 * 5. the timestamp, by the service's clock;
 * 6. the token;
 * 7. the signature;
 * 8. the nonce, which only a request with a valid signature uses up.
 */
export class SignedRequests {
  readonly #settings: ServiceSettings;
  readonly #provider: OAuthProvider;
  readonly #clock: Clock;
  readonly #nonces = new Nonces();
  readonly #file: NonceFile;
  #opened: Promise<void> | undefined;

  constructor(provider: OAuthProvider, clock: Clock, settings: ServiceSettings) {
    this.#settings = settings;
    this.#provider = provider;
    this.#clock = clock;
    this.#file = new NonceFile(settings.stateFolder);
  }

  /**
   * Loads stored grants and nonces. Later calls return the same promise.
   *
   * @throws StorageError if they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async close(): Promise<void> {
    await this.#opened?.catch(() => {});
    this.#opened = undefined;
    await this.#provider.close();
  }

  async check(
    { request }: RequestContext,
    { maxBodyBytes, tokenSecret, tokenUnknown = 'Token not found' }: SignedRequestOptions,
  ): Promise<SignedRequest> {
    const header = parseAuthorization(request.headers.authorization);
    if (header === undefined) throw this.#unauthenticated('Unknown Authorization Type');
    if (header === 'malformed')
      throw this.#unauthenticated('The Authorization header cannot be read');
    const given = new Map(header);
    const missing = REQUIRED.filter(name => !given.get(name));
    if (missing.length > 0)
      throw this.#unauthenticated(`The Authorization header has no ${missing.join(', ')}`);

    const body = await readBody(request, maxBodyBytes);
    const form = isForm(request.headers['content-type']) ? formOf(body) : [];
    const isRepeated = ([name, value]: Parameter) =>
      OFTEN_REPEATED.has(name) && value === given.get(name);
    const rest = form.filter(parameter => !isRepeated(parameter));
    const parameters = collect([...header, ...queryOf(request.url), ...rest]);
    const get = (name: string) => parameters.get(name) ?? '';

    if (parameters.has('oauth_version') && get('oauth_version') !== '1.0')
      throw this.#unauthenticated('oauth_version must be 1.0');
    if (get('oauth_signature_method') !== 'HMAC-SHA1')
      throw this.#unauthenticated('oauth_signature_method must be HMAC-SHA1');
    const registered = this.#provider.registered(get('oauth_consumer_key'));
    if (registered === undefined) throw this.#unauthenticated('Consumer key not found');
    const { application, secret } = registered;
    const timestamp = this.#timestamp(get('oauth_timestamp'));

    const token = parameters.get('oauth_token') || undefined;
    const secretOfToken = token === undefined ? '' : tokenSecret?.(token, application);
    if (secretOfToken === undefined || (token === undefined && tokenSecret !== undefined))
      throw this.#unauthenticated(tokenUnknown);

    const isSigned = (parameters: readonly Parameter[]) => {
      const method = String(request.method);
      const origin = originOf(request, this.#settings) ?? `http://${request.headers.host}`;
      const url = `${origin}${request.url}`;
      const signature = signatureOf({ method, url, parameters }, secret, secretOfToken);
      return isSameSecret(signature, get('oauth_signature'));
    };
    // If a parameter is both in the header and in the form, some clients sign it once and others twice. Both
    // signatures are accepted.
    if (!isSigned([...header, ...rest]) && !isSigned([...header, ...form]))
      throw this.#unauthorized(BAD_SIGNATURE);
    const owner = JSON.stringify([application.key, token]);
    const used = this.#nonces.use(owner, timestamp, get('oauth_nonce'));
    if (used === undefined) throw this.#unauthenticated('oauth_nonce was used before');
    await this.#file.add(used, this.#nonces);
    return { application, token, parameters, body };
  }

  async #open(): Promise<void> {
    await this.#provider.open();
    for (const used of await this.#file.load()) this.#nonces.restore(used);
  }

  #timestamp(text: string): number {
    const now = this.#clock.now();
    const withinMs = this.#settings.limits.signedWithinMs;
    const timestamp = /^[1-9]\d{0,11}$/.test(text) ? Number(text) : Number.NaN;
    this.#nonces.expire(Math.floor((now - withinMs) / SECOND) - 1);
    const isNear = Math.abs(timestamp * SECOND - now) <= withinMs + SECOND;
    if (!isNear || !this.#nonces.canCheck(timestamp, Math.floor(now / SECOND)))
      throw this.#unauthenticated(
        `Timestamp out of bounds: it is ${Math.floor(now / SECOND)} by the service's clock`,
      );
    return timestamp;
  }

  #unauthenticated(reason: string): HttpProblem {
    return this.#unauthorized(`Your account could not be authenticated. Reason: ${reason}`);
  }

  #unauthorized(message: string): HttpProblem {
    return new HttpProblem(401, message, {
      'WWW-Authenticate': 'OAuth realm="millrace"',
      // This header tells a client by how much its clock is wrong.
      Date: new Date(this.#clock.now()).toUTCString(),
    });
  }
}

const BAD_SIGNATURE =
  '3040: Bad signature. Check the Authorization header, the content type and the JSON body, and ' +
  'sign each request with its own nonce, timestamp and signature';

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded *(;|$)/i.test(contentType ?? '');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function formOf(body: Buffer): readonly Parameter[] {
  return decoded(() => parseForm(utf8.decode(body)), 'The form in the body');
}

function queryOf(target = ''): readonly Parameter[] {
  const query = target.indexOf('?');
  return decoded(() => (query === -1 ? [] : parseForm(target.slice(query + 1))), 'The query');
}

function decoded<Value>(decode: () => Value, what: string): Value {
  try {
    return decode();
  } catch {
    throw new HttpProblem(400, `${what} is not UTF-8 in percent encoding`);
  }
}

/** Collects the parameters. A parameter of the protocol must not be repeated (RFC 5849 section 3.2). */
function collect(all: readonly Parameter[]): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of all) {
    if (parameters.has(name) && name.startsWith('oauth_'))
      throw new HttpProblem(400, `The parameter ${name.slice(0, 40)} comes more than once`);
    parameters.set(name, value);
  }
  return parameters;
}

/** A name and its value, decoded. Names may be repeated. */
export type Parameter = readonly [name: string, value: string];

interface Signed {
  readonly method: string;
  /** The requested URL. Its query is signed, its fragment is not. */
  readonly url: string;
  /**
   * The parameters of the `Authorization` header, except `realm`, and of a form in the body.
   * `oauth_signature` may be included, but is not signed.
   */
  readonly parameters: readonly Parameter[];
}

/** Returns the signature base string (RFC 5849 section 3.4.1). */
export function signatureBaseString({ method, url, parameters }: Signed): string {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^([a-z]+):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const all = [...parseForm(query), ...parameters].filter(([name]) => name !== 'oauth_signature');
  // Parameters are sorted by name, then by value. NUL separates the two, because it sorts before any other
  // character. Otherwise, a name could sort after a longer name.
  const normalized = all
    .map(([name, value]) => `${percentEncode(name)}\0${percentEncode(value)}`)
    .sort()
    .map(pair => pair.replace('\0', '='))
    .join('&');
  const baseUri = `${scheme.toLowerCase()}://${hostOf(scheme, authority)}${path === '' ? '/' : path}`;
  return [method.toUpperCase(), baseUri, normalized].map(percentEncode).join('&');
}

/**
 * Returns the HMAC-SHA1 signature (RFC 5849 section 3.4.2) in base64. If there is no token, its secret is an
 * empty string.
 */
export function signatureOf(signed: Signed, consumerSecret: string, tokenSecret = ''): string {
  const key = `${percentEncode(consumerSecret)}&${percentEncode(tokenSecret)}`;
  return createHmac('sha1', key).update(signatureBaseString(signed)).digest('base64');
}

/** Percent-encodes everything except letters, digits, `-`, `.`, `_` and `~` (RFC 5849 section 3.6). */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Parses the parameters of a query or a form body, in order.
 *
 * @throws URIError if they are not percent-encoded UTF-8.
 */
export function parseForm(text: string): readonly Parameter[] {
  return text
    .split('&')
    .filter(part => part !== '')
    .map(part => {
      const [name = '', ...value] = part.split('=');
      return [decodeForm(name), decodeForm(value.join('='))];
    });
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

/** Returns the host in lower case, without the default port of the scheme. */
function hostOf(scheme: string, authority: string): string {
  const port = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  const host = authority.toLowerCase();
  return host.endsWith(port) ? host.slice(0, -port.length) : host;
}

/**
 * Returns the decoded parameters of an `Authorization` header with the scheme OAuth (RFC 5849 section 3.5.1),
 * without `realm`. Returns `undefined` for another scheme, and `malformed` for a syntax error.
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
