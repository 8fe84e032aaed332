import { createHmac } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../src/base/time.js';
import { createService, type Service, samplePosts } from '../../../src/service/index.js';
import { unchecked } from '../../unchecked.js';
import { NOW } from '../local-service.js';
import { ANN, CALLBACK, type LocalOAuth, localOAuth, POSTS, verifierOf } from './local-oauth.js';

async function approved({ service, requestToken }: LocalOAuth, callback?: string) {
  const request = await requestToken({}, callback);
  const approval = await service.oauth.approve(request.token, ANN);
  return { ...request, approval, verifier: verifierOf(approval) };
}

describe('the OAuth sign-in of the local service', () => {
  it('returns an access token for the user in three steps', async () => {
    const { service, post } = await localOAuth(POSTS);
    const first = await post('/oauth/request_token', { form: { oauth_callback: CALLBACK } });
    expect([first.status, first.headers.get('content-type')]).toEqual([
      200,
      'application/x-www-form-urlencoded; charset=utf-8',
    ]);
    expect([...first.form.keys()]).toEqual([
      'oauth_token',
      'oauth_token_secret',
      'oauth_callback_confirmed',
    ]);
    expect(first.form.get('oauth_callback_confirmed')).toBe('true');
    const token = String(first.form.get('oauth_token'));

    expect(service.oauth.pending(token)).toEqual({
      application: {
        id: '10000001',
        key: 'local-application',
        name: 'Local application',
        websiteUrl: 'http://127.0.0.1/',
        approved: true,
      },
      callback: CALLBACK,
      expiresAt: NOW + 15 * MINUTE,
    });
    const user = await service.oauth.signIn('@Ann', 'local-service');
    expect(user).toEqual(ANN);
    const approval = await service.oauth.approve(token, ANN);
    const redirect = new URL((approval as { redirect: string }).redirect);
    expect(redirect.origin + redirect.pathname).toBe(CALLBACK);
    expect([...redirect.searchParams.keys()]).toEqual(['oauth_token', 'oauth_verifier']);
    expect(redirect.searchParams.get('oauth_token')).toBe(token);

    const third = await post('/oauth/access_token', {
      token,
      tokenSecret: String(first.form.get('oauth_token_secret')),
      form: { oauth_verifier: String(redirect.searchParams.get('oauth_verifier')) },
    });
    expect(third.status).toBe(200);
    expect(Object.fromEntries(third.form)).toEqual({
      oauth_token: expect.stringMatching(/^7-[\w-]{36}$/),
      oauth_token_secret: expect.stringMatching(/^[\w-]{44}$/),
      user_id: '7',
      screen_name: 'ann',
    });
    expect(third.headers.get('cache-control')).toBe('no-store');
  });

  it('accepts requests of the library oauth-1.0a, which puts the callback and the verifier into header and form', async () => {
    const { service, addresses } = await localOAuth(POSTS);
    const { consumerKey: key, consumerSecret: secret, oauthUrl } = addresses;
    const oauth = new OAuth({
      consumer: { key, secret },
      signature_method: 'HMAC-SHA1',
      hash_function: (base, signingKey) =>
        createHmac('sha1', signingKey).update(base).digest('base64'),
    });
    oauth.getTimeStamp = () => Math.floor(NOW / SECOND);
    const send = async (path: string, data: Record<string, string>, token?: OAuth.Token) => {
      const request = { url: oauthUrl + path, method: 'POST', data };
      const { Authorization } = oauth.toHeader(oauth.authorize(request, token));
      for (const name of Object.keys(data)) expect(Authorization).toContain(`${name}="`);
      const headers = { authorization: Authorization };
      const body = new URLSearchParams(data);
      const response = await fetch(request.url, { method: 'POST', headers, body });
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining('oauth_token=')]);
      return new URLSearchParams(text);
    };
    const first = await send('/oauth/request_token', { oauth_callback: CALLBACK });
    const token = {
      key: String(first.get('oauth_token')),
      secret: String(first.get('oauth_token_secret')),
    };
    const verifier = verifierOf(await service.oauth.approve(token.key, ANN));
    const third = await send('/oauth/access_token', { oauth_verifier: verifier }, token);
    expect(third.get('screen_name')).toBe('ann');
  });

  describe('with the callback in the header', () => {
    const begun = async () => {
      const { service, post } = await localOAuth(POSTS);
      const first = await post('/oauth/request_token', { signed: { oauth_callback: CALLBACK } });
      expect(first.status).toBe(200);
      const token = String(first.form.get('oauth_token'));
      const verifier = verifierOf(await service.oauth.approve(token, ANN));
      const tokenSecret = String(first.form.get('oauth_token_secret'));
      return { post, token, tokenSecret, verifier };
    };

    it('accepts the token and the verifier in the form', async () => {
      const { post, token, tokenSecret, verifier } = await begun();
      const third = await post('/oauth/access_token', {
        form: { oauth_token: token, oauth_verifier: verifier },
        tokenSecret,
      });
      expect(third.form.get('user_id')).toBe('7');
    });

    it('accepts the token and the verifier in the header', async () => {
      const { post, token, tokenSecret, verifier } = await begun();
      const third = await post('/oauth/access_token', {
        token,
        signed: { oauth_verifier: verifier },
        tokenSecret,
      });
      expect(third.form.get('user_id')).toBe('7');
    });
  });

  it('shows a PIN if there is no callback', async () => {
    const local = await localOAuth(POSTS);
    const { approval, verifier, ...token } = await approved(local, 'oob');
    expect(approval).toEqual({ pin: expect.stringMatching(/^\d{7}$/) });
    const form = { oauth_verifier: verifier };
    expect((await local.post('/oauth/access_token', { ...token, form })).status).toBe(200);
  });

  it('accepts the handles of the authors of generated posts', async () => {
    const service = createService({ seed: 5 });
    const now = Date.UTC(2024, 4, 15);
    service.clock.set(now);
    await service.start();
    try {
      for (const { author } of samplePosts(now - 5 * MINUTE, { seed: 5 })) {
        const user = await service.oauth.signIn(author.handle.toUpperCase(), 'local-service');
        expect(user).toMatchObject({ id: author.id, handle: author.handle });
      }
      for (const handle of ['nobody', 'luna999999', 'x', '', '1', 'a b'])
        expect(await service.oauth.signIn(handle, 'local-service')).toBe(undefined);
    } finally {
      await service.stop();
    }
  });

  it('requires the password that an option sets', async () => {
    const { service } = await localOAuth(POSTS, { userPassword: 'tea time' });
    expect(await service.oauth.signIn('ann', 'local-service')).toBe(undefined);
    expect(await service.oauth.signIn('bob', 'tea time')).toBe(undefined);
    expect(await service.oauth.signIn('7', 'tea time')).toBe(undefined);
    expect(await service.oauth.signIn(' ann ', 'tea time')).toEqual(ANN);
  });
});

describe('an OAuth request token', () => {
  it('can be allowed or denied only once', async () => {
    const { service, requestToken } = await localOAuth(POSTS);
    const { token } = await requestToken();
    const both = await Promise.allSettled([
      service.oauth.approve(token, ANN),
      service.oauth.approve(token, ANN),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(service.oauth.pending(token)).toBe(undefined);
    await expect(service.oauth.approve(token, ANN)).rejects.toMatchObject({ status: 401 });
    expect(() => service.oauth.deny(token)).toThrow('was used');
  });

  it('is invalid after the user denies access, and the application is told', async () => {
    const { service, requestToken, post } = await localOAuth(POSTS);
    const request = await requestToken({}, `${CALLBACK}?state=1`);
    expect(service.oauth.deny(request.token)).toBe(`${CALLBACK}?state=1&denied=${request.token}`);
    const reply = await post('/oauth/access_token', { ...request, form: { oauth_verifier: 'x' } });
    expect([reply.status, reply.errors]).toEqual([
      401,
      ['Your account could not be authenticated. Reason: Request token not found'],
    ]);
    const outOfBand = await requestToken({}, 'oob');
    expect(service.oauth.deny(outOfBand.token)).toBe(undefined);
    expect(service.oauth.pending(outOfBand.token)).toBe(undefined);
  });

  it('can be exchanged only once', async () => {
    const local = await localOAuth(POSTS);
    const { verifier, ...token } = await approved(local);
    const exchange = () =>
      local.post('/oauth/access_token', { ...token, form: { oauth_verifier: verifier } });
    const statuses = (await Promise.all([exchange(), exchange()])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 401]);
  });

  it('cannot be exchanged before the user has decided', async () => {
    const { post, requestToken } = await localOAuth(POSTS);
    const request = await requestToken();
    const reply = await post('/oauth/access_token', { ...request, form: { oauth_verifier: 'x' } });
    expect([reply.status, reply.errors]).toEqual([
      401,
      ['The user has not authorized this request token yet'],
    ]);
  });

  it('expires after 15 minutes, together with its verifier', async () => {
    const local = await localOAuth(POSTS);
    const { verifier, ...token } = await approved(local);
    const other = await local.requestToken();
    local.service.clock.advance(15 * MINUTE - 1);
    expect(local.service.oauth.pending(other.token)).toBeDefined();
    local.service.clock.advance(1);
    expect(local.service.oauth.pending(other.token)).toBe(undefined);
    await expect(local.service.oauth.approve(other.token, ANN)).rejects.toThrow('expired');
    const form = { oauth_verifier: verifier };
    expect((await local.post('/oauth/access_token', { ...token, form })).status).toBe(401);
  });

  it('expires after several wrong verifiers', async () => {
    const local = await localOAuth(POSTS);
    const { verifier, ...token } = await approved(local, 'oob');
    const wrong = String((Number(verifier) + 1) % 1e7).padStart(7, '0');
    for (const guess of [wrong, '', wrong, wrong, wrong, wrong, verifier]) {
      const form = { oauth_verifier: guess };
      const { status } = await local.post('/oauth/access_token', { ...token, form });
      expect(status).toBe(guess === '' ? 400 : 401);
    }
  });

  it('can be exchanged only by the application that requested it', async () => {
    const local = await localOAuth(POSTS);
    const { unapprovedConsumerKey: key, unapprovedConsumerSecret: secret } = local.addresses;
    const { verifier, ...token } = await approved(local);
    const form = { oauth_verifier: verifier };
    const other = await local.post('/oauth/access_token', { ...token, key, secret, form });
    expect(other.status).toBe(401);
    expect((await local.post('/oauth/access_token', { ...token, form })).status).toBe(200);
  });

  it('is not accepted in the request for a new request token', async () => {
    const { post, requestToken } = await localOAuth(POSTS);
    const token = await requestToken();
    const reply = await post('/oauth/request_token', { ...token, form: { oauth_callback: 'oob' } });
    expect(reply.status).toBe(401);
  });
});

describe('the callback of an OAuth sign-in', () => {
  it.each(['http://example.com/', 'http://127.0.0.1.example.com/', 'javascript:alert(1)'])(
    'must be a URL of this machine, unlike %s',
    async callback => {
      const { post } = await localOAuth(POSTS);
      const form = { oauth_callback: callback };
      const reply = await post('/oauth/request_token', { form });
      expect([reply.status, reply.errors]).toEqual([
        403,
        [expect.stringMatching(/^Callback URL not approved for this client application/)],
      ]);
    },
  );

  it('must be one of the registered callbacks, if any are registered', async () => {
    const { post } = await localOAuth(POSTS, { callbackUrls: ['https://app.example.com/cb'] });
    const status = async (oauth_callback: string) =>
      (await post('/oauth/request_token', { form: { oauth_callback } })).status;
    expect(await status('https://app.example.com/cb?state=1')).toBe(200);
    expect(await status(CALLBACK)).toBe(403);
    expect(await status('oob')).toBe(403);
  });

  it('is required', async () => {
    const { post } = await localOAuth(POSTS);
    const reply = await post('/oauth/request_token');
    expect([reply.status, reply.errors]).toEqual([400, ['Missing parameter oauth_callback']]);
  });
});

describe('the OAuth grant of a user', () => {
  it('consists of one token per user and application until it is revoked', async () => {
    const { service, signIn } = await localOAuth(POSTS);
    const [application, other] = service.oauth.applications;
    if (application === undefined || other === undefined) throw new Error('No applications');
    expect(service.oauth.isGranted(ANN, application)).toBe(false);
    const first = await signIn('ann');
    expect(await signIn('ann')).toEqual(first);
    expect(service.oauth.isGranted(ANN, application)).toBe(true);
    expect(service.oauth.isGranted(ANN, other)).toBe(false);
    expect(service.oauth.isGranted({ ...ANN, id: '8' }, application)).toBe(false);
    expect(service.oauth.grantsOf(ANN)).toEqual([{ user: ANN, application, grantedAt: NOW }]);
    expect(service.oauth.grantsOf({ id: '8' })).toEqual([]);
    expect(await service.oauth.revoke(ANN, application)).toBe(true);
    expect(await service.oauth.revoke(ANN, application)).toBe(false);
    expect(service.oauth.isGranted(ANN, application)).toBe(false);
    expect(service.oauth.grantsOf()).toEqual([]);
    expect(await signIn('ann')).not.toEqual(first);
  });

  it('is listed and revoked through the control API, without its secrets', async () => {
    const { service, addresses, signIn } = await localOAuth(POSTS);
    const { token } = await signIn('ann');
    const control = async (method: string, at = '') => {
      const response = await fetch(`${addresses.baseUrl}/_control/grants${at}`, { method });
      return [response.status, await response.text()] as const;
    };
    const [status, text] = await control('GET');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ grants: service.oauth.grantsOf() });
    expect(text).not.toContain(token);
    expect((await control('DELETE', '/8'))[0]).toBe(404);
    expect(await control('DELETE', '/7')).toEqual([200, '{"revoked":1}']);
    await signIn('ann');
    expect(await control('DELETE')).toEqual([200, '{"revoked":1}']);
    expect(await control('GET')).toEqual([200, '{"grants":[]}']);
  });
});

describe('a step of an OAuth sign-in', () => {
  const limited = { requests: 2, perMs: MINUTE };

  it.each([
    ['request_token', { requestTokenRate: limited }],
    ['access_token', { accessTokenRate: limited }],
  ])('is rate-limited: %s', async (step, limits) => {
    const { service, post, requestToken } = await localOAuth(POSTS, { limits });
    const token = step === 'access_token' ? await requestToken() : {};
    const form = { oauth_callback: CALLBACK, oauth_verifier: 'x' };
    const ask = () => post(`/oauth/${step}`, { ...token, form });
    const forged = { oauth_signature: 'x' };
    // Requests with a wrong signature must not count towards the limit.
    for (let i = 0; i < 3; i++) await post(`/oauth/${step}`, { ...token, form, forged });
    await ask();
    await ask();
    service.clock.advance(20 * SECOND);
    const reply = await ask();
    expect([reply.status, reply.headers.get('retry-after'), reply.errors]).toEqual([
      429,
      '40',
      ['Your app has exceeded the limit on API requests.'],
    ]);
    service.clock.advance(40 * SECOND);
    expect((await ask()).status).not.toBe(429);
  });

  it('in which a user enters a password is rate-limited, whether the password is right or wrong', async () => {
    const { service } = await localOAuth(POSTS, { limits: { signInRate: limited } });
    await service.oauth.signIn('ann', 'wrong');
    await service.oauth.signIn('ann', 'local-service');
    await expect(service.oauth.signIn('ann', 'local-service')).rejects.toMatchObject({
      status: 429,
      headers: { 'Retry-After': '60' },
    });
  });
});

describe('the option `applications`', () => {
  it('sets the keys and secrets of the applications', async () => {
    const local = await localOAuth(POSTS, {
      consumerKey: 'a & b',
      consumerSecret: 'ü%',
      unapprovedConsumerKey: 'c',
      unapprovedConsumerSecret: 'd',
    });
    expect(local.addresses).toMatchObject({ consumerKey: 'a & b', unapprovedConsumerSecret: 'd' });
    await local.signIn('ann');
    await local.signIn('ann', { key: 'c', secret: 'd' });
    expect(local.service.oauth.grantsOf(ANN)).toHaveLength(2);
  });

  it.each([
    [{ callbackUrls: [] }],
    [{ callbackUrls: ['http://127.0.0.1/?a=b'] }],
    [{ callbackUrls: ['javascript:alert(1)'] }],
    [{ callbackUrls: 'oob' }],
    [{ consumerKey: '' }],
    [{ usageCap: 0 }],
    [{ usageAlert: 1.5 }],
    [{ requestCap: '5' }],
    [{ accountStatus: 'asleep' }],
  ])('causes an error that names the option for %j', options => {
    const [name] = Object.keys(options);
    expect(() => createService(unchecked(options))).toThrow(`\`${name}\` must be`);
  });

  it.each(['consumerSecret', 'unapprovedConsumerSecret', 'userPassword'])(
    'never shows a secret in an error: %s',
    name => {
      const make = (): Service => createService(unchecked({ [name]: 12_345_678 }));
      expect(make).toThrow(`\`${name}\` must be a string`);
      expect(make).not.toThrow('12345678');
    },
  );
});
