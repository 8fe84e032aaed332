import { createHmac, randomUUID } from 'node:crypto';
import type { Addresses } from 'millrace/service';
import { fetchWith } from './bare-client.js';

// OAuth 1.0a (RFC 5849) for the client of the tests. This code shares nothing with the library.

export interface BareToken {
  readonly token: string;
  readonly secret: string;
}

interface SignedBody {
  /** The service's time in epoch milliseconds. */
  readonly now: number;
  readonly token?: BareToken | undefined;
  readonly body: Readonly<Record<string, string>> | string;
}

/**
 * Sends a signed POST request. Its body is JSON, or a form, which is part of the signature. Returns
 * the body of the response.
 */
export function postSigned(
  { consumerKey, consumerSecret }: Pick<Addresses, 'consumerKey' | 'consumerSecret'>,
  url: string,
  { now, token, body }: SignedBody,
): Promise<string> {
  const form = typeof body === 'string' ? {} : body;
  const parameters: Record<string, string> = {
    oauth_consumer_key: consumerKey,
    oauth_nonce: randomUUID(),
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: String(Math.floor(now / 1_000)),
    ...(token !== undefined && { oauth_token: token.token }),
    oauth_version: '1.0',
  };
  const signed = encoded({ ...parameters, ...form }).toSorted();
  const base = ['POST', url, signed.join('&')].map(percentEncode).join('&');
  const key = [consumerSecret, token?.secret ?? ''].map(percentEncode).join('&');
  parameters.oauth_signature = createHmac('sha1', key).update(base).digest('base64');
  const header = encoded(parameters).map(pair => pair.replace(/=(.*)$/, '="$1"'));
  const type = typeof body === 'string' ? 'json' : 'x-www-form-urlencoded';
  return fetchWith(
    { authorization: `OAuth ${header.join(', ')}`, 'content-type': `application/${type}` },
    url,
    { method: 'POST', body: typeof body === 'string' ? body : encoded(body).join('&') },
  );
}

export function tokenIn(text: string): BareToken {
  const form = new URLSearchParams(text);
  return { token: form.get('oauth_token') ?? '', secret: form.get('oauth_token_secret') ?? '' };
}

function encoded(parameters: Readonly<Record<string, string>>): string[] {
  return Object.entries(parameters).map(pair => pair.map(percentEncode).join('='));
}

function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
