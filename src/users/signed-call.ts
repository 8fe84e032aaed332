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

/** A signed POST request. */
interface SignedCall {
  readonly url: URL;
  readonly family: Family;
  /** The body: a form, which is signed, or JSON, which is not. */
  readonly body: URLSearchParams | { readonly json: string };
  /** Absent while there is none, and where it travels in the form. */
  readonly token?: Secret | undefined;
  readonly tokenSecret?: Secret | undefined;
  readonly signal?: AbortSignal | undefined;
}

const REFUSED_STATUSES = [400, 401, 403, 413, 415, 422];

/**
 * Sends a signed request with rate limits and retries, as `request` does. Each try has a new nonce, timestamp and
 * signature. The timestamp follows the service's clock, if it is known. If that clock has moved since the account
 * learned it, the service refuses the timestamp, and the request is signed again.
 *
 * @param readRefusal Turns a refusal and the text of its body into a result. By default the refusal is
 * thrown.
 * @throws OptionError If the account has no application.
 * @throws AuthorizationError If it is refused; HttpError and ConnectionError as elsewhere.
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
    // RFC 5849 encodes `*`, which forms do not.
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
  // An account that has learned no time is told that this machine's clock is wrong.
  const { result } = (await send(wasLearned)) ?? (await send(false)) ?? {};
  return result as T;
}

/** A `Date` header is truncated to the second, and a response takes some time. */
const LEAST_SKEW = 5 * SECOND;

/**
 * Recognises the messages of refusals, also of the steps of a sign-in. The first that
 * fits counts. The service has several wordings of them.
 */
const FAILURES: readonly (readonly [AuthorizationFailure, RegExp])[] = [
  // Its text also mentions timestamps and nonces.
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

/** Advice for a stored token, which the next call would use again. */
const AGAIN = 'signIn with `again: true` where tokens are stored';

const ADVICE: Readonly<Record<AuthorizationFailure, string>> = {
  application: `Ask the operator to approve the application id, which the application's page has in its address, or check the consumer key (${SETTINGS.consumerKey.env})`,
  'consumer-key': `Check the consumer key of the application (${SETTINGS.consumerKey.env}) and that it belongs to this address`,
  signature: `Check, in this order: the consumer secret (${SETTINGS.consumerSecret.env}); that token and token secret belong together and to this application (${SETTINGS.accessToken.env}, ${SETTINGS.accessTokenSecret.env}, or sign in again: ${AGAIN}); this machine's clock; that nothing on the way, such as a proxy, changes the address, the Authorization header, the content type or the JSON body. Each try has a fresh nonce, timestamp and signature already`,
  clock: "Set this machine's clock right: signatures hold for a few minutes only",
  nonce:
    'Try again: each try has a fresh nonce. If it happens again, something on the way sends requests twice',
  callback: 'Register the callback address on the page of the application, or pass one that is',
  verifier: 'Sign in again: a verifier belongs to one request token and is good once',
  token:
    'Sign in again: the token is used up, expired or revoked, or belongs to another application',
  forbidden: `The user whose token it is must be the author of the posts, and must not have revoked it. Sign in as the author: ${AGAIN}`,
  'engagement-type': 'Ask for favorites, retweets or replies',
  other: 'Check the consumer key, the token and their secrets, or sign in again',
};

/** The error of a signed request that was refused, and what to do about it. */
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

/** Added wherever the clock is the cause, or may be. */
function describeSkew(failure: AuthorizationFailure, skewMs: number | undefined): string {
  if (skewMs === undefined || Math.abs(skewMs) < LEAST_SKEW) return '';
  const may: readonly AuthorizationFailure[] = ['clock', 'signature', 'other', 'nonce'];
  if (!may.includes(failure)) return '';
  const side = skewMs > 0 ? 'behind' : 'ahead of';
  return `This machine's clock is ${Math.abs(skewMs) / SECOND} s ${side} the service's`;
}

/** The signed parts of a request. Only a body that is a form is signed (RFC 5849 section 3.4.1.3.1). */
interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** The parameters of a form in the body. */
  readonly form?: URLSearchParams | undefined;
}

/** The keys of a signature: the keys of the application, and of the user or sign-in. */
interface Credentials {
  readonly consumerKey: string;
  readonly consumerSecret: Secret;
  /** Absent while there is none, and where it travels in the form. */
  readonly token?: string | undefined;
  readonly tokenSecret?: Secret | undefined;
}

/**
 * Corrects oauth-1.0a to follow RFC 5849. The library keeps upper-case hosts and default ports,
 * merges a parameter that is in both the query and the form, encodes names of the query twice, keeps
 * `+` instead of reading a space, puts parameters of the form that start with `oauth_` into the
 * header, and draws its nonces from `Math.random`.
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

  /** RFC 5849 section 3.4.1.2; `URL` has lower-cased the host and dropped a default port. */
  override getBaseUrl(address: string): string {
    const url = new URL(address);
    return `${url.origin}${url.pathname}`;
  }

  /**
   * RFC 5849 section 3.4.1.3: of the header, the query and the form, decoded, encoded again, and
   * sorted by name and value.
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
 * The `Authorization` header for one try of a request, with a new nonce, timestamp and
 * signature: call it for each try.
 */
export function authorization(
  { method, url, form }: SignedRequest,
  { consumerKey, consumerSecret, token, tokenSecret }: Credentials,
  clock: { now(): number },
): string {
  const consumer = { key: consumerKey, secret: consumerSecret.reveal() };
  const signer = new Signer(consumer, () => clock.now());
  // The library takes a token without a name, although its types do not: one that the form holds.
  const signing = { key: token, secret: tokenSecret?.reveal() } as OAuth.Token;
  const parameters = signer.authorize({ method, url: url.href, data: form }, signing);
  return signer.toHeader(parameters).Authorization;
}
