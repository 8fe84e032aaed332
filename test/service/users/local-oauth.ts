import { randomUUID } from 'node:crypto';
import { MINUTE } from '../../../src/base/time.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import {
  type Addresses,
  createService,
  type Service,
  type ServiceOptions,
} from '../../../src/service/index.js';
import {
  type Parameter,
  percentEncode,
  signatureOf,
} from '../../../src/service/users/signed-requests.js';
import { afterTests } from '../../after-tests.js';
import { NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';

export interface OAuthReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body of the response, parsed as a form. */
  readonly form: URLSearchParams;
  readonly errors: readonly string[] | undefined;
}

export interface Ask {
  readonly form?: Readonly<Record<string, string>> | readonly Parameter[];
  /** The part of the form that is signed. @default the whole form */
  readonly signedForm?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string;
  readonly contentType?: string;
  readonly query?: string;
  /** The scheme of the address that is signed. @default the scheme of the request */
  readonly signedScheme?: 'https';
  readonly key?: string;
  readonly secret?: string;
  readonly token?: string | undefined;
  readonly tokenSecret?: string | undefined;
  /** Replaces parameters of the header before signing. `undefined` removes a parameter. */
  readonly signed?: Readonly<Record<string, string | undefined>>;
  /** Replaces parameters of the header after signing. */
  readonly forged?: Readonly<Record<string, string>>;
  readonly authorization?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AccessToken {
  readonly token: string;
  readonly tokenSecret: string;
}

export interface LocalOAuth {
  readonly service: Service;
  readonly addresses: Addresses;
  readonly errors: unknown[];
  post(path: string, ask?: Ask): Promise<OAuthReply>;
  requestToken(ask?: Ask, callback?: string): Promise<AccessToken>;
  signIn(handle: string, ask?: Ask): Promise<AccessToken>;
  stop(): Promise<void>;
}

export const CALLBACK = 'http://127.0.0.1:34567/callback';

const running: Service[] = [];

afterTests(async () => {
  for (const service of running.splice(0)) await service.stop();
});

export async function localOAuth(
  posts: readonly ArchivedPost[] = [],
  options: ServiceOptions = {},
): Promise<LocalOAuth> {
  const errors: unknown[] = [];
  const service = createService({
    archive: new MemoryArchive(posts),
    onError: error => errors.push(error),
    ...options,
  });
  running.push(service);
  service.clock.freeze();
  service.clock.set(NOW);
  const addresses = await service.start();

  const post: LocalOAuth['post'] = async (path, ask = {}) => {
    const { key = addresses.consumerKey, secret = addresses.consumerSecret } = ask;
    const url = `${service.addresses().oauthUrl}${path}${ask.query === undefined ? '' : `?${ask.query}`}`;
    const usual: Record<string, string | undefined> = {
      oauth_consumer_key: key,
      oauth_nonce: randomUUID(),
      oauth_signature_method: 'HMAC-SHA1',
      oauth_timestamp: String(Math.floor(service.clock.now() / 1000)),
      oauth_token: ask.token,
      oauth_version: '1.0',
      ...ask.signed,
    };
    const header = Object.entries(usual).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const form: readonly Parameter[] = Array.isArray(ask.form)
      ? ask.form
      : Object.entries(ask.form ?? {});
    const signedForm = ask.signedForm === undefined ? form : Object.entries(ask.signedForm);
    const signedUrl = url.replace(/^http/, ask.signedScheme ?? 'http');
    const signed = { method: 'POST', url: signedUrl, parameters: [...header, ...signedForm] };
    const signature = signatureOf(signed, secret, ask.tokenSecret);
    const sent = { ...Object.fromEntries(header), oauth_signature: signature, ...ask.forged };
    const authorization = `OAuth ${Object.entries(sent)
      .map(([name, value]) => `${name}="${percentEncode(value)}"`)
      .join(', ')}`;
    const json = ask.json === undefined ? undefined : JSON.stringify(ask.json);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: ask.authorization ?? authorization,
        'content-type':
          ask.contentType ??
          (json === undefined ? 'application/x-www-form-urlencoded' : 'application/json'),
        ...ask.headers,
      },
      body: ask.body ?? json ?? form.map(pair => pair.map(percentEncode).join('=')).join('&'),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      form: new URLSearchParams(text),
      errors: isJson ? (JSON.parse(text) as { errors?: string[] }).errors : undefined,
    };
  };

  const tokenOf = ({ status, text, form }: OAuthReply): AccessToken => {
    if (status !== 200) throw new Error(`${status} ${text}`);
    return {
      token: String(form.get('oauth_token')),
      tokenSecret: String(form.get('oauth_token_secret')),
    };
  };

  const requestToken: LocalOAuth['requestToken'] = async (ask, callback = CALLBACK) =>
    tokenOf(await post('/oauth/request_token', { form: { oauth_callback: callback }, ...ask }));

  const signIn: LocalOAuth['signIn'] = async (handle, ask) => {
    const request = await requestToken(ask);
    const user = await service.oauth.signIn(handle, 'local-service');
    if (user === undefined) throw new Error(`There is no ${handle}`);
    const verifier = verifierOf(await service.oauth.approve(request.token, user));
    return tokenOf(
      await post('/oauth/access_token', { ...ask, ...request, form: { oauth_verifier: verifier } }),
    );
  };

  return { service, addresses, errors, post, requestToken, signIn, stop: () => service.stop() };
}

/**
 * Returns the verifier of an approval. It is in the query of the callback, or it is the PIN that
 * the page shows.
 */
export function verifierOf(
  approval: { readonly redirect: string } | { readonly pin: string },
): string {
  if ('pin' in approval) return approval.pin;
  return String(new URL(approval.redirect).searchParams.get('oauth_verifier'));
}

export const POSTS = [originalPost(NOW - MINUTE, '1790000000000000000', 'tea')];

export const ANN = { id: '7', handle: 'ann', name: 'Ann' };
