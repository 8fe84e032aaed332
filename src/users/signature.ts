import { createHmac, randomBytes } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import type { Secret } from '../secret.js';

/** The signed parts of a request. Only a body that is a form is signed (RFC 5849 section 3.4.1.3.1). */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** The parameters of a form in the body. */
  readonly form?: URLSearchParams | undefined;
}

/** The keys of a signature: those of the application, and of the user or sign-in. */
export interface Credentials {
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
