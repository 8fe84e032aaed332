import type { AuthorizationError } from '../errors.js';
import type { Account } from '../http/account.js';
import type { HttpResponse } from '../http/http-message.js';
import type { Family } from '../http/rate-limits.js';
import { type AccountRequest, request } from '../http/request.js';
import { readErrorBody } from '../http/response-error.js';
import type { Secret } from '../secret.js';
import { SECOND } from '../time.js';
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
  readonly signal?: AbortSignal | undefined;
}

const REFUSED_STATUSES = [400, 401, 403, 413, 415, 422];

/**
 * Sends it with rate limits and retries as `request` does, each try with its own nonce, timestamp and
 * signature. The timestamp is of the service's clock, as far as it is known: where that clock was moved since
 * the account learned it, the refusal says so, and the request is signed again.
 *
 * @param readRefusal Makes a result of a refusal and the text of its body. By default the refusal is
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
    body: body instanceof URLSearchParams ? String(body) : body.json,
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
