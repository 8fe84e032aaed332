import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthorizationError, DataError, HttpError, OptionError } from '../../src/base/errors.js';
import { Secret } from '../../src/base/secret.js';
import { DAY } from '../../src/base/time.js';
import { account } from '../../src/http/account.js';
import { realTime } from '../../src/http/timing.js';
import { signatureOf } from '../../src/service/users/signed-requests.js';
import { accessToken, requestToken, signInAddress } from '../../src/users/sign-in-steps.js';
import { Signer } from '../../src/users/signed-call.js';
import { reset, ScriptedServer, status } from '../http/scripted-server.js';
import { NOW } from '../service/local-service.js';
import { unchecked } from '../unchecked.js';
import { failureOf } from './failure-of.js';
import { ANN, localUser, tokenIn } from './local-user.js';

const CALLBACK = 'http://127.0.0.1:34567/callback?state=a%20b';

async function errorOf(promise: Promise<unknown>): Promise<AuthorizationError> {
  const error = await failureOf(promise);
  if (!(error instanceof AuthorizationError)) throw error;
  return error;
}

describe('the three steps of an OAuth sign-in', () => {
  it('return the token of the user who consented', async () => {
    const { service, acme } = await localUser();
    const token = await requestToken(acme, { callback: CALLBACK });
    const address = signInAddress(acme, token);
    expect(address).toBe(
      `${acme.settings.oauthUrl?.origin}/oauth/authenticate?oauth_token=${token.token}`,
    );
    expect(signInAddress(acme, token, { always: true })).toBe(
      address.replace('authenticate', 'authorize'),
    );
    expect(service.oauth.pending(token.token)?.callback).toBe(CALLBACK);
    const approval = await service.oauth.approve(tokenIn(address), ANN);
    const verifier = new URL((approval as { redirect: string }).redirect).searchParams.get(
      'oauth_verifier',
    );
    const user = await accessToken(acme, { token, verifier: String(verifier) });
    expect([user.userId, user.screenName]).toEqual(['7', 'ann']);
    expect(user.token.reveal()).not.toBe('');
    const shown = [
      inspect(user, { depth: 9, showHidden: true }),
      JSON.stringify(user),
      user.secret,
    ].join();
    expect(shown).not.toContain(user.token.reveal());
    expect(shown).not.toContain(user.secret.reveal());
  });

  it('use a PIN if the application has no callback', async () => {
    const { service, acme } = await localUser();
    const token = await requestToken(acme, { callback: 'oob' });
    const { pin } = (await service.oauth.approve(token.token, ANN)) as { pin: string };
    expect(await accessToken(acme, { token, verifier: pin })).toMatchObject({ userId: '7' });
  });

  it('accept an upper-case host and any characters in a callback', async () => {
    const { service, acme, as } = await localUser();
    const port = acme.settings.oauthUrl?.port;
    const other = as({ oauthUrl: `HTTP://LOCALHOST:${port}` });
    for (const odd of ["?a=!*'()&b=+%2B&a=%C3%BC&a=", '?=&&x', '/%7Eann/~ann?q=~']) {
      const callback = `http://localhost:1${odd}`;
      const { token } = await requestToken(other, { callback });
      expect(service.oauth.pending(token)?.callback).toBe(callback);
    }
  });

  it('throw an OptionError for wrong options before anything is sent', async () => {
    const nowhere = account(
      { oauthUrl: 'http://127.0.0.1:1', consumerKey: 'k', consumerSecret: 's' },
      {},
    );
    const token = { token: 't', secret: new Secret('s') };
    const wrong: (() => Promise<unknown>)[] = [
      () => requestToken(account({}, {}), { callback: CALLBACK }),
      () => requestToken(account({ oauthUrl: 'http://127.0.0.1:1' }, {}), { callback: CALLBACK }),
      () => requestToken(nowhere, { callback: 'nowhere' }),
      () => requestToken(nowhere, unchecked({})),
      () => requestToken(nowhere, unchecked({ callback: CALLBACK, calback: 1 })),
      () => accessToken(nowhere, { token, verifier: '' }),
      () => accessToken(nowhere, { token: unchecked({ token: 't', secret: 's' }), verifier: 'v' }),
      () => accessToken(unchecked({}), { token, verifier: 'v' }),
    ];
    for (const act of wrong) await expect(act()).rejects.toBeInstanceOf(OptionError);
  });
});

describe('the error of an OAuth sign-in step', () => {
  it.each([
    [
      { consumerSecret: 'wrong' },
      'signature',
      /MILLRACE_CONSUMER_SECRET.*clock.*content type.*fresh nonce/,
    ],
    [{ consumerKey: 'nobody' }, 'consumer-key', /MILLRACE_CONSUMER_KEY/],
  ] as const)('says what to do after %j', async (options, failure, advice) => {
    const { as } = await localUser();
    const error = await errorOf(requestToken(as(options), { callback: CALLBACK }));
    expect(error).toMatchObject({
      failure,
      status: 401,
      code: 'ERR_AUTHORIZATION',
      retryable: false,
    });
    expect(error).toBeInstanceOf(HttpError);
    expect(error.message).toMatch(advice);
    expect(error.clockSkewMs).toBe(-1000 * Math.round(NOW / 1000 - Math.floor(NOW / 1000)));
    expect(error.message).not.toMatch(/email|machine's clock is/);
  });

  it.each([
    [7 * 60_000, 'behind'],
    [-7 * 60_000, 'ahead of'],
  ])('says what to do about a clock that is %i ms off', async (skewMs, side) => {
    const { as } = await localUser();
    const late = as({ timing: { ...realTime, now: () => NOW - skewMs }, serviceTime: undefined });
    const error = await errorOf(requestToken(late, { callback: CALLBACK }));
    expect(error.failure).toBe('clock');
    expect(Math.abs((error.clockSkewMs ?? 0) - skewMs)).toBeLessThanOrEqual(1000);
    expect(error.message).toMatch(
      new RegExp(`This machine's clock is 4(19|20|21) s ${side} the service's`),
    );
  });

  it.each([-6 * 365 * DAY, 0, 6 * 365 * DAY])(
    'does not occur, even with a local clock %i ms off, if the time of the service is known',
    async offMs => {
      const { service, as } = await localUser();
      const timing = { ...realTime, now: () => NOW + offMs };
      // The addresses from `start()` give this account the time of the service.
      const given = as({ timing });
      expect((await requestToken(given, { callback: CALLBACK })).token).toMatch(/./);
      // This account learns the service's time from a response. Before the second round, the clock
      // of the service moves.
      const learned = as({ timing, serviceTime: undefined });
      for (const movedMs of [0, DAY]) {
        service.clock.set(NOW + movedMs);
        if (movedMs === 0) await requestToken(learned, { callback: CALLBACK }).catch(() => {});
        expect((await requestToken(learned, { callback: CALLBACK })).token).toMatch(/./);
      }
    },
  );

  it('says what to do about a callback that is not registered', async () => {
    const { acme } = await localUser();
    const elsewhere = requestToken(acme, { callback: 'https://elsewhere.test/' });
    expect((await errorOf(elsewhere)).failure).toBe('callback');
  });

  it('says what to do about a verifier that is used before the user consented', async () => {
    const { acme } = await localUser();
    const token = await requestToken(acme, { callback: 'oob' });
    const early = await errorOf(accessToken(acme, { token, verifier: '1' }));
    expect(early.failure).toBe('verifier');
  });

  const withPin = async () => {
    const { service, acme } = await localUser();
    const token = await requestToken(acme, { callback: 'oob' });
    const { pin } = (await service.oauth.approve(token.token, ANN)) as { pin: string };
    return { acme, token, pin };
  };

  it('says what to do about a wrong verifier', async () => {
    const { acme, token, pin } = await withPin();
    const guessed = await errorOf(accessToken(acme, { token, verifier: `${pin}0` }));
    expect(guessed.failure).toBe('verifier');
  });

  it('says what to do about a verifier that was already used', async () => {
    const { acme, token, pin } = await withPin();
    await accessToken(acme, { token, verifier: pin });
    const used = await errorOf(accessToken(acme, { token, verifier: pin }));
    expect(used.failure).toBe('token');
    expect(used.message).toContain('Sign in again');
  });
});

describe('the requests of an OAuth sign-in', () => {
  const server = new ScriptedServer();
  const secrets = ['canary-consumer', 'canary-token', 'canary-verifier', 'canary-request'];
  beforeEach(() => server.start());
  afterEach(() => server.stop());
  const acme = () =>
    account(
      {
        oauthUrl: `${server.url}/prefix/`,
        consumerKey: 'key',
        consumerSecret: 'canary-consumer',
        retry: { firstWaitMs: 1, maxWaitMs: 1 },
      },
      {},
    );
  const token = { token: 'canary-request', secret: new Secret('canary-token') };
  const call = () => accessToken(acme(), { token, verifier: 'canary-verifier' });
  const GRANT = 'oauth_token=a&oauth_token_secret=b&user_id=7&screen_name=ann';

  describe('that are sent four times because of failures', () => {
    beforeEach(async () => {
      server.script.push(
        reset,
        status(503),
        status(429, '', { 'retry-after': '0' }),
        status(200, GRANT),
      );
      await call();
    });

    it('have a different nonce and signature each time', () => {
      const headers = server.received.map(({ headers }) => String(headers.authorization));
      const all = (name: string) =>
        headers.map(header => RegExp(`${name}="([^"]+)"`).exec(header)?.[1]);
      expect(new Set(all('oauth_nonce')).size).toBe(4);
      expect(new Set(all('oauth_signature')).size).toBe(4);
    });

    it('have the same form fields each time', () => {
      expect(server.received.length).toBe(4);
      for (const { method, url, body, headers } of server.received) {
        expect([method, url]).toEqual(['POST', '/prefix/oauth/access_token']);
        expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
        expect(body).toBe('oauth_token=canary-request&oauth_verifier=canary-verifier');
      }
    });

    it('contain the token only in the form, not in the header', () => {
      // RFC 5849 section 3.2 forbids repeating parameters.
      for (const { headers } of server.received)
        expect(headers.authorization).not.toMatch(/oauth_token=|oauth_verifier/);
    });
  });

  it('encode * as %2A in the form, and are signed as the local service expects', async () => {
    server.script.push(status(200, `${GRANT}&oauth_callback_confirmed=true`));
    const callback = "http://localhost:1/?a=!*'()-._*";
    await requestToken(acme(), { callback });
    const [{ body, headers, url } = unchecked({})] = server.received;
    const encoded = new Signer({ key: '', secret: '' }, () => 0).percentEncode(callback);
    expect(body).toBe(`oauth_callback=${encoded}`);
    const header = new Map(
      [...String(headers.authorization).matchAll(/(\w+)="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, decodeURIComponent(value)] as const,
      ),
    );
    const signed = {
      method: 'POST',
      url: `${server.url}${url}`,
      parameters: [...header, ...new URLSearchParams(body)],
    };
    expect(header.get('oauth_signature')).toBe(signatureOf(signed, 'canary-consumer', ''));
  });

  it('make the sign-in fail for a response without a token, without showing the response', async () => {
    for (const [answer, missing] of [
      ['', 'oauth_token'],
      ['<html>canary-token</html>', 'oauth_token'],
      ['oauth_token=canary-token', 'oauth_token_secret'],
      ['oauth_token=canary-token&oauth_token_secret=', 'oauth_token_secret'],
      ['oauth_token=a&oauth_token_secret=canary-token&user_id=7', 'screen_name'],
    ] as const) {
      server.script.push(status(200, answer));
      const error = await call().catch(failure => failure);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(`it has no ${missing}.`);
      expect(inspect(error, { depth: 9 })).not.toContain('canary');
    }
    server.script.push(status(200, 'oauth_token=a&oauth_token_secret=b'));
    await expect(requestToken(acme(), { callback: 'oob' })).rejects.toThrow(
      'oauth_callback_confirmed',
    );
  });

  it.each([400, 401, 403, 404, 500])(
    'hide a secret that an error response with status %i echoes',
    async code => {
      const echo = JSON.stringify({ errors: [`You sent ${secrets.join(' and ')}`] });
      server.otherwise = status(code, echo);
      const error = await call().catch(failure => failure);
      expect(error).toBeInstanceOf(HttpError);
      expect(error.body).toContain('You sent [redacted]');
      for (const secret of secrets) expect(inspect(error, { depth: 9 })).not.toContain(secret);
    },
  );

  it.each([
    ['{"errors":[{"code":89,"message":"Invalid or expired token"}]}', 'token'],
    ['{"errors":[{"code":135,"message":"Timestamp out of bounds."}]}', 'clock'],
    ['{"errors":["3040: bad request"]}', 'signature'],
    ['{"errors":["Your application id is not authorized."]}', 'application'],
    ['{"errors":["Forbidden to access tweets for author id 12: 34, 56"]}', 'forbidden'],
    [
      '{"errors":["Unsupported engagement type: impressions. Supported: favorites"]}',
      'engagement-type',
    ],
    ['<html>no</html>', 'other'],
    ['', 'other'],
  ])('cause an error that classifies the response %s as %s', async (body, failure) => {
    server.script.push(status(401, body));
    const error = await errorOf(call());
    expect(error.failure).toBe(failure);
    expect(error.authorId).toBe(failure === 'forbidden' ? '12' : undefined);
  });

  it('cause an error that classifies the response as token even if the words of the response equal secrets', async () => {
    server.script.push(status(401, '{"errors":["Request token not found"]}'));
    const token = { token: 'Request', secret: new Secret('token') };
    const error = await errorOf(accessToken(acme(), { token, verifier: 'not' }));
    expect(error.failure).toBe('token');
    expect(error.body).toBe('[redacted] [redacted] [redacted] found');
  });
});
