import {
  checkValue,
  flag,
  made,
  type OptionTable,
  required,
  signal as signalOption,
  special,
  text,
} from '../base/check.js';
import { DataError } from '../base/errors.js';
import { protect, Secret } from '../base/secret.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import { readText } from '../http/read-json.js';
import { serviceUrl } from '../http/service-url.js';
import { signedCall } from './signed-call.js';

/** The temporary token from step 1 of a sign-in. It belongs to the application. */
export interface RequestToken {
  /** The token. It is part of the sign-in URL. */
  readonly token: string;
  readonly secret: Secret;
}

/** The tokens that identify the authorized user in every call. The secrets are redacted when printed. */
export interface AccessToken {
  readonly token: Secret;
  readonly secret: Secret;
  /** The id of the user, as digits. */
  readonly userId: string;
  readonly screenName: string;
}

/** Options of `users.requestToken`: the callback of the sign-in, and a signal that aborts the call. */
export interface RequestTokenOptions {
  /**
   * The URL to which the service redirects the browser once the user has decided. It must be registered for
   * the application. With `oob` instead of a URL, the service shows the user a PIN. Pass this PIN to
   * `users.accessToken` as `verifier`.
   */
  readonly callback: string | URL;
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `users.signInAddress`: whether to ask users for consent again. */
export interface SignInAddressOptions {
  /** Whether to ask for consent even if the user has given it before. @default false */
  readonly always?: boolean | undefined;
}

/** Options of `users.accessToken`: the request token and the verifier to exchange. */
export interface AccessTokenOptions {
  /** The request token from step 1. The user must have approved it. */
  readonly token: RequestToken;
  /** The `oauth_verifier` from the callback, or the PIN. It can be used only once. */
  readonly verifier: string;
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const REQUEST_TOKEN_OPTIONS = {
  callback: required(
    special<string | URL>(
      'where the browser goes after sign-in',
      "an absolute address, or 'oob' for a PIN",
      isCallback,
    ),
  ),
  signal: signalOption(),
} satisfies OptionTable<RequestTokenOptions>;

const REQUEST_TOKEN = required(
  made<Pick<RequestToken, 'token'>>(
    'the token of the first step',
    'what `await users.requestToken()` gives',
    ['token'],
  ),
);
const ADDRESS_OPTIONS = {
  always: flag('asks for consent again', false),
} satisfies OptionTable<SignInAddressOptions>;

const ACCESS_TOKEN_OPTIONS = {
  token: required(
    special<RequestToken>('of the first step', 'what `requestToken` returned', isRequestToken),
  ),
  verifier: required(text('the `oauth_verifier` of the callback')),
  signal: signalOption(),
} satisfies OptionTable<AccessTokenOptions>;

/**
 * Performs the first of the three steps by which a user authorizes the application: gets a request token for
 * the sign-in URL. `users.signIn` performs all three steps.
 *
 * @throws OptionError for missing settings of the account, and for a callback that is not a URL.
 * @throws AuthorizationError if the service refuses the request. Its failure is `callback` if the callback is
 * not registered.
 * @example
 * const token = await users.requestToken(acme, { callback: 'https://app.example/signed-in' });
 * response.redirect(users.signInAddress(acme, token));
 */
export async function requestToken(
  account: Account,
  options: RequestTokenOptions,
): Promise<RequestToken> {
  const { callback, signal } = checkAccountOptions(
    'users.requestToken',
    account,
    REQUEST_TOKEN_OPTIONS,
    options,
  );
  const url = stepUrl(account, 'request_token');
  const body = new URLSearchParams({ oauth_callback: String(callback) });
  return signedCall(account, { url, family: 'signIn', body, signal }, async response => {
    const need = await fieldsOf(response);
    need('oauth_callback_confirmed', 'true');
    return { token: need('oauth_token'), secret: new Secret(need('oauth_token_secret')) };
  });
}

/**
 * Performs the second step: returns the URL at which the user signs in and consents. The service then
 * redirects the browser to the callback, with `oauth_token` and `oauth_verifier`, or with `denied`.
 *
 * @throws OptionError For invalid options or missing settings of the account.
 * @example
 * response.redirect(users.signInAddress(acme, token, { always: true }));
 */
export function signInAddress(
  account: Account,
  token: Pick<RequestToken, 'token'>,
  options: SignInAddressOptions = {},
): string {
  const { always } = checkAccountOptions('users.signInAddress', account, ADDRESS_OPTIONS, options);
  checkValue('users.signInAddress', 'token', REQUEST_TOKEN, token);
  const url = stepUrl(account, always ? 'authorize' : 'authenticate');
  url.searchParams.set('oauth_token', token.token);
  return url.href;
}

/**
 * Performs the third step: exchanges the verifier from the callback for the user's access token. This token
 * is valid until the user revokes it.
 *
 * @throws AuthorizationError with the failure `verifier` or `token` if the service refuses one of them, for
 * example because it was already used.
 * @example
 * const { searchParams } = new URL(request.url, 'https://app.example');
 * const verifier = searchParams.get('oauth_verifier') ?? '';
 * const user = await users.accessToken(acme, { token, verifier });
 */
export async function accessToken(
  account: Account,
  options: AccessTokenOptions,
): Promise<AccessToken> {
  const { token, verifier, signal } = checkAccountOptions(
    'users.accessToken',
    account,
    ACCESS_TOKEN_OPTIONS,
    options,
  );
  const url = stepUrl(account, 'access_token');
  // The service expects the token in the form. RFC 5849 forbids repeating it in the header.
  const body = new URLSearchParams({ oauth_token: token.token, oauth_verifier: verifier });
  const call = { url, family: 'signIn', body, tokenSecret: token.secret, signal } as const;
  const release = protect(token.token, verifier);
  return signedCall(account, call, async response => {
    const need = await fieldsOf(response);
    return {
      token: new Secret(need('oauth_token')),
      secret: new Secret(need('oauth_token_secret')),
      userId: need('user_id'),
      screenName: need('screen_name'),
    };
  }).finally(release);
}

function stepUrl(account: Account, step: string): URL {
  return serviceUrl(account, 'oauthUrl', `oauth/${step}`, { purpose: 'signing users in' });
}

function isCallback(value: unknown): boolean {
  return (
    value === 'oob' || value instanceof URL || (typeof value === 'string' && URL.canParse(value))
  );
}

function isRequestToken(value: unknown): boolean {
  const { token, secret } = Object(value) as Partial<RequestToken>;
  return typeof token === 'string' && secret instanceof Secret;
}

/**
 * Returns a function that reads the fields of a response by name. Errors about a field do not show any part
 * of the response, because most of it is secret.
 */
async function fieldsOf(response: HttpResponse) {
  const form = new URLSearchParams((await readText(response)).trim());
  return (name: string, expected?: string): string => {
    const value = form.get(name) ?? '';
    if (value !== '' && value === (expected ?? value)) return value;
    throw new DataError(
      `The response is not a token: it has no ${name}${expected === undefined ? '' : `=${expected}`}. Check the address of sign-ins (oauthUrl)`,
      { position: { origin: response.url } },
    );
  };
}
