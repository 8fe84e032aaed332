import type { AuthorizationError } from '../errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import type { Family } from '../http/rate-limits.js';
import { type AccountRequest, request } from '../http/request.js';
import { readErrorBody } from '../http/response-error.js';
import type { Secret } from '../http/secret.js';
import { authorizationError } from './authorization-error.js';
import { authorization } from './signature.js';

/** A signed POST request. */
export interface SignedCall {
  readonly url: URL;
  readonly family: Family;
  /** The body: a form, which is signed, or JSON, which is not. */
  readonly body: URLSearchParams | { readonly json: string };
  /** Absent while there is none, and where it travels in the form. */
  readonly token?: Secret | undefined;
  readonly tokenSecret?: Secret | undefined;
  /** Other secrets that no error may show. */
  readonly secrets?: readonly Secret[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

const REFUSED_STATUSES = [400, 401, 403, 413, 415, 422];

/**
 * Sends it with rate limits and retries as `request` does, each try with its own nonce, timestamp and
 * signature.
 *
 * @param readRefusal Makes a result of a refusal and the text of its body. By default the refusal is
 * thrown.
 * @throws OptionError If the account has no application.
 * @throws AuthorizationError If it is refused; HttpError and ConnectionError as elsewhere.
 */
export function signedCall<T>(
  account: Account,
  { url, family, body, token, tokenSecret, secrets = [], signal }: SignedCall,
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
    body: body instanceof URLSearchParams ? String(body) : body.json,
    headers:
      form === undefined
        ? { 'content-type': 'application/json' }
        : { 'content-type': 'application/x-www-form-urlencoded', accept: '*/*' },
    expectedStatuses: REFUSED_STATUSES,
    secrets: [...secrets, ...[token, tokenSecret].filter(secret => secret !== undefined)],
    authorize: () => authorization({ method: 'POST', url, form }, credentials, account.timing),
  };
  return request(account, call, async response => {
    if (!REFUSED_STATUSES.includes(response.status)) return read(response);
    const text = await readErrorBody(response, signal);
    return readRefusal(text, authorizationError(account, call, response, text));
  });
}
