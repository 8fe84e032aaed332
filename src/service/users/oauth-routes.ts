import { errorsErrorBody, HttpProblem } from '../http/http-problem.js';
import { checkRate, type RateWindow, requestsExceeded } from '../http/quotas.js';
import { type Handler, type HandlerResponse, type Route, routesOf } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';

const MAX_BODY_BYTES = 16 * 1024;

interface SignInParts extends Pick<ServiceContext, 'oauth' | 'signed'> {
  readonly requestTokens: RateWindow;
  readonly accessTokens: RateWindow;
}

/**
 * Returns the routes that issue a request token and exchange it for an access token. Between the two, the
 * user gives consent on a page of the service. Requests are checked in this order:
 * 1. the signed request: 401, 413, 415, 400 (see `SignedRequests`);
 * 2. the rate limit of the route, which all applications share: 429;
 * 3. the required parameter of the route: 400;
 * 4. the callback: 403; the verifier: 401.
 */
export function oauthRoutes({ quotas, oauth, signed }: ServiceContext): readonly Route[] {
  const requestTokens = quotas.window('requestTokenRate');
  const accessTokens = quotas.window('accessTokenRate');
  const table = {
    '/oauth/request_token': { POST: requestToken },
    '/oauth/access_token': { POST: accessToken },
  };
  return routesOf({ endpoint: 'oauth', errorBody: errorsErrorBody }, table, async () => {
    await signed.open();
    return { oauth, signed, requestTokens, accessTokens };
  });
}

const requestToken: Handler<SignInParts> = async (incoming, parts) => {
  const { oauth, signed, requestTokens } = parts;
  const { application, parameters } = await signed.check(incoming, {
    maxBodyBytes: MAX_BODY_BYTES,
  });
  checkRate([requestTokens], requestsExceeded);
  const callback = required('oauth_callback', parameters);
  const { token, secret } = oauth.issue(application, callback);
  return formAnswer({
    oauth_token: token,
    oauth_token_secret: secret,
    oauth_callback_confirmed: 'true',
  });
};

const accessToken: Handler<SignInParts> = async (incoming, parts) => {
  const { oauth, signed, accessTokens } = parts;
  const { token = '', parameters } = await signed.check(incoming, {
    maxBodyBytes: MAX_BODY_BYTES,
    tokenSecret: (token, application) => oauth.requestSecret(token, application),
    tokenUnknown: 'Request token not found',
  });
  checkRate([accessTokens], requestsExceeded);
  const verifier = required('oauth_verifier', parameters);
  const { user, ...grant } = oauth.exchange(token, verifier);
  return formAnswer({
    oauth_token: grant.token,
    oauth_token_secret: grant.secret,
    user_id: user.id,
    screen_name: user.handle,
  });
};

function required(name: string, parameters: ReadonlyMap<string, string>): string {
  const value = parameters.get(name);
  if (!value) throw new HttpProblem(400, `Missing parameter ${name}`);
  return value;
}

function formAnswer(fields: Readonly<Record<string, string>>): HandlerResponse {
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
      'Cache-Control': 'no-store',
    },
    body: [Buffer.from(String(new URLSearchParams(fields)))],
  };
}
