import { createHmac, randomBytes } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import { AuthorizationError, type AuthorizationFailure } from '../base/errors.js';
import type { Secret } from '../base/secret.js';
import { SECOND } from '../base/time.js';
import type { Account } from '../http/account.js';
import type { HttpRequest, HttpResponse } from '../http/http-message.js';
import type { Family } from '../http/rate-limits.js';
import { type AccountRequest, request } from '../http/request.js';
import { readErrorBody, responseError } from '../http/response-error.js';
import { SETTINGS } from '../http/settings.js';

interface SignedCall {
  readonly url: URL;
  readonly family: Family;
  /** The body. If it is a form, it is signed. If it is JSON, it is not signed. */
  readonly body: URLSearchParams | { readonly json: string };
  /** The token. Absent if there is none yet, or if the token is in the form. */
  readonly token?: Secret | undefined;
  readonly tokenSecret?: Secret | undefined;
  readonly signal?: AbortSignal | undefined;
}

const REFUSED_STATUSES = [400, 401, 403, 413, 415, 422];

/**
 * Sends a signed request with rate limits and retries, like `request`. Each attempt has a new nonce,
 * timestamp and signature. The timestamp uses the service's clock, if it is known. If the service refuses the
 * timestamp because its clock has changed, signs and sends the request once more.
 *
 * @param readRefusal Converts a refusal and the text of its body to a result. By default, the refusal is
 * thrown.
 * @throws OptionError If the account's settings have no application.
 * @throws AuthorizationError If the request is refused.
 * @throws HttpError, ConnectionError
 */
export async function signedCall<T>(
  account: Account,
  { url, family, body, token, tokenSecret, signal }: SignedCall,
  read: (response: HttpResponse) => Promise<T>,
  readRefusal: (text: string, error: AuthorizationError) => T = (_text, error) => {
    throw error;
  },
): Promise<T> {
  const consumerKey = account.need('consumerKey', 'signed requests');
  const consumerSecret = account.need('consumerSecret', 'signed requests');
  const form = body instanceof URLSearchParams ? body : undefined;
  const credentials = { consumerKey, consumerSecret, token: token?.reveal(), tokenSecret };
  const call: AccountRequest = {
    method: 'POST',
    url,
    family,
    signal,
    // RFC 5849 requires `*` to be encoded, but forms do not encode it.
    body: body instanceof URLSearchParams ? String(body).replaceAll('*', '%2A') : body.json,
    headers:
      form === undefined
        ? { 'content-type': 'application/json' }
        : { 'content-type': 'application/x-www-form-urlencoded', accept: '*/*' },
    expectedStatuses: REFUSED_STATUSES,
    authorize: () => authorization({ method: 'POST', url, form }, credentials, account.clock),
  };
  const { clock, timing } = account;
  const offsetMs = () => clock.now() - timing.now();
  const wasLearned = clock.responses > 0 && !clock.isGiven;
  const before = offsetMs();
  const send = (mayRepeat: boolean) =>
    request(account, call, async response => {
      if (!REFUSED_STATUSES.includes(response.status)) return { result: await read(response) };
      const text = await readErrorBody(response, signal);
      const error = authorizationError(account, call, response, text);
      const wasMoved = Math.abs(offsetMs() - before) > SECOND;
      if (mayRepeat && wasMoved && error.failure === 'clock') return undefined;
      return { result: readRefusal(text, error) };
    });
  // If the service's time was known before and has changed, the request is repeated once. If it was not known,
  // this machine's clock is wrong, so the caller gets the error.
  const { result } = (await send(wasLearned)) ?? (await send(false)) ?? {};
  return result as T;
}

/**
 * Error messages do not mention a clock difference of fewer milliseconds than this. Such a difference is
 * normal, because a `Date` header has whole seconds and a response takes time.
 */
const LEAST_SKEW = 5 * SECOND;

/**
 * Patterns for the messages of refusals, including the messages in the sign-in steps. The service words
 * messages in several ways. The first pattern that matches is used.
 */
const FAILURES: readonly (readonly [AuthorizationFailure, RegExp])[] = [
  // This pattern comes before the patterns for clocks and nonces, because the message also mentions
  // timestamps and nonces.
  ['signature', /\b3040\b|bad signature/i],
  ['forbidden', /forbidden to access/i],
  ['application', /application id/i],
  ['clock', /timestamp/i],
  ['nonce', /nonce.*used/i],
  ['signature', /signature/i],
  ['callback', /callback/i],
  ['verifier', /verifier|not authori[sz]ed this/i],
  ['consumer-key', /consumer/i],
  ['token', /token/i],
  ['engagement-type', /engagement.?type|unsupported/i],
];

/** Advice about a stored token. Without `again: true`, the next call would use the same token again. */
const AGAIN = 'signIn with `again: true` where tokens are stored';

const ADVICE: Readonly<Record<AuthorizationFailure, string>> = {
  application: `Ask the operator to approve the application id, which the application's page has in its address, or check the consumer key (${SETTINGS.consumerKey.env})`,
  'consumer-key': `Check the consumer key of the application (${SETTINGS.consumerKey.env}) and that it belongs to this address`,
  signature: `Check, in this order: the consumer secret (${SETTINGS.consumerSecret.env}); that token and token secret belong together and to this application (${SETTINGS.accessToken.env}, ${SETTINGS.accessTokenSecret.env}, or sign in again: ${AGAIN}); this machine's clock; that nothing on the way, such as a proxy, changes the address, the Authorization header, the content type or the JSON body. Each try has a fresh nonce, timestamp and signature already`,
  clock: "Set this machine's clock right: signatures hold for a few minutes only",
  nonce:
    'Try again: each try has a fresh nonce. If it happens again, something on the way sends requests twice',
  callback: 'Register the callback address on the page of the application, or pass one that is',
  verifier: 'Sign in again: a verifier works once, for its own request token',
  token:
    'Sign in again: the token is used up, expired or revoked, or belongs to another application',
  forbidden: `The token must belong to the author of the posts and must not be revoked. Sign in as the author: ${AGAIN}`,
  'engagement-type': 'Ask for favorites, retweets or replies',
  other: 'Check the consumer key, the token and their secrets, or sign in again',
};

function authorizationError(
  account: Account,
  call: HttpRequest,
  response: HttpResponse,
  text: string,
): AuthorizationError {
  const clockSkewMs = skewOf(response.headers.date, account.timing.now());
  let failure: AuthorizationFailure = 'other';
  let authorId: string | undefined;
  const error = responseError(account, call, response, text, (_status, said) => {
    failure = failureOf(said);
    authorId = /author id (\d{1,20})\b/i.exec(said)?.[1];
    return [ADVICE[failure], describeSkew(failure, clockSkewMs)]
      .filter(part => part !== '')
      .join('. ');
  });
  return new AuthorizationError(error.message, { ...error, failure, clockSkewMs, authorId });
}

function failureOf(message: string): AuthorizationFailure {
  return FAILURES.find(([, pattern]) => pattern.test(message))?.[0] ?? 'other';
}

function skewOf(date: string | undefined, now: number): number | undefined {
  const sent = Date.parse(date ?? '');
  return Number.isNaN(sent) ? undefined : Math.round((sent - now) / SECOND) * SECOND;
}

/**
 * Describes how far this machine's clock is off from the service's clock, if that is, or may be, the reason
 * for the failure. Otherwise, returns an empty string.
 */
function describeSkew(failure: AuthorizationFailure, skewMs: number | undefined): string {
  if (skewMs === undefined || Math.abs(skewMs) < LEAST_SKEW) return '';
  const may: readonly AuthorizationFailure[] = ['clock', 'signature', 'other', 'nonce'];
  if (!may.includes(failure)) return '';
  const side = skewMs > 0 ? 'behind' : 'ahead of';
  return `This machine's clock is ${Math.abs(skewMs) / SECOND} s ${side} the service's`;
}

/**
 * The parts of a request that are signed. The body is signed only if it is a form (RFC 5849 section
 * 3.4.1.3.1).
 */
interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly form?: URLSearchParams | undefined;
}

/** The keys for a signature: two keys of the application, and two keys of the user or of the sign-in. */
interface Credentials {
  readonly consumerKey: string;
  readonly consumerSecret: Secret;
  readonly token?: string | undefined;
  readonly tokenSecret?: Secret | undefined;
}

/**
 * Makes oauth-1.0a follow RFC 5849. The library itself has these faults:
 * - It keeps upper-case hosts and default ports.
 * - It merges a parameter that is in both the query and the form.
 * - It encodes names in the query twice.
 * - It reads `+` as a plus sign instead of a space.
 * - It puts form parameters that start with `oauth_` into the header.
 * - It takes its nonces from `Math.random`.
 */
export class Signer extends OAuth {
  readonly #now: () => number;

  constructor(consumer: OAuth.Consumer, now: () => number) {
    super({
      consumer,
      signature_method: 'HMAC-SHA1',
      hash_function: (text, key) => createHmac('sha1', key).update(text).digest('base64'),
    });
    this.#now = now;
  }

  override getNonce(): string {
    return randomBytes(16).toString('hex');
  }

  override getTimeStamp(): number {
    return Math.floor(this.#now() / 1000);
  }

  /**
   * Returns the base URL as RFC 5849 section 3.4.1.2 requires. `URL` has already converted the host to lower
   * case and removed a default port.
   */
  override getBaseUrl(address: string): string {
    const url = new URL(address);
    return `${url.origin}${url.pathname}`;
  }

  /**
   * Returns the parameters as RFC 5849 section 3.4.1.3 requires. They are the parameters of the header, the
   * query and the form. They are decoded, encoded again, and sorted by name and value.
   */
  override getParameterString({ url, data }: OAuth.RequestOptions, oauth: OAuth.Data): string {
    const parameters: [string, string][] = [
      ...Object.entries(oauth).map(([name, value]): [string, string] => [name, String(value)]),
      ...new URL(url).searchParams,
      ...(data instanceof URLSearchParams ? data : []),
    ];
    return parameters
      .map(pair => pair.map(text => this.percentEncode(text)) as [string, string])
      .sort(([nameA, a], [nameB, b]) => (nameA === nameB ? order(a, b) : order(nameA, nameB)))
      .map(([name, value]) => `${name}=${value}`)
      .join('&');
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/**
 * Returns the `Authorization` header of one attempt. A retry needs a new header, because the nonce and
 * timestamp may be used only once.
 */
export function authorization(
  { method, url, form }: SignedRequest,
  { consumerKey, consumerSecret, token, tokenSecret }: Credentials,
  clock: { now(): number },
): string {
  const consumer = { key: consumerKey, secret: consumerSecret.reveal() };
  const signer = new Signer(consumer, () => clock.now());
  // If the form contains the token, `signing` has no key. oauth-1.0a accepts this, although its types do not.
  const signing = { key: token, secret: tokenSecret?.reveal() } as OAuth.Token;
  const parameters = signer.authorize({ method, url: url.href, data: form }, signing);
  return signer.toHeader(parameters).Authorization;
}
