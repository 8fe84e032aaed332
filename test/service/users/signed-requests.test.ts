import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import fc from 'fast-check';
import OAuth from 'oauth-1.0a';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../src/base/time.js';
import {
  type Parameter,
  percentEncode,
  signatureOf,
} from '../../../src/service/users/signed-requests.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NOW } from '../local-service.js';
import { type Ask, CALLBACK, localOAuth, verifierOf } from './local-oauth.js';

const PATH = '/oauth/request_token';
const GOOD: Ask = { form: { oauth_callback: CALLBACK } };
const seconds = (ms: number) => String(Math.floor(ms / SECOND));

const REFUSED = 'Your account could not be authenticated. Reason: ';
const BAD_SIGNATURE = expect.stringMatching(
  /^3040: Bad signature\. Check the Authorization header, the content type and the JSON body/,
);

describe('an OAuth-signed request', () => {
  it('may be signed for https if a proxy forwards it to a service with a token', async () => {
    const overTls: Ask = { ...GOOD, signedScheme: 'https' };
    const forwarded = { ...overTls, headers: { 'x-forwarded-proto': 'https' } };
    const { post } = await localOAuth([], { token: 'the-token-of-a-test' });
    expect((await post(PATH, forwarded)).status).toBe(200);
    expect((await post(PATH, GOOD)).status).toBe(200);
    expect((await post(PATH, overTls)).status).toBe(401);
    const withoutToken = await localOAuth();
    expect((await withoutToken.post(PATH, forwarded)).status).toBe(401);
  });

  it.each<[string, Ask]>([
    ['none', { authorization: '' }],
    ['Basic YTpi', { authorization: 'Basic YTpi' }],
  ])('is rejected without an OAuth Authorization header (given: %s)', async (_, ask) => {
    const { post } = await localOAuth();
    const { status, headers, errors } = await post(PATH, { ...GOOD, ...ask });
    expect([status, errors]).toEqual([401, [`${REFUSED}Unknown Authorization Type`]]);
    expect(headers.get('www-authenticate')).toBe('OAuth realm="millrace"');
  });

  it.each<[string, Ask, string]>([
    ['a readable header', { authorization: 'OAuth a=' }, 'The Authorization header cannot be read'],
    [
      'all parameters',
      { authorization: 'OAuth oauth_nonce="", oauth_timestamp="1"' },
      'The Authorization header has no oauth_consumer_key, oauth_nonce, oauth_signature, oauth_signature_method',
    ],
    ['version 1.0', { signed: { oauth_version: '2.0' } }, 'oauth_version must be 1.0'],
    [
      'HMAC-SHA1',
      { signed: { oauth_signature_method: 'PLAINTEXT' } },
      'oauth_signature_method must be HMAC-SHA1',
    ],
    ['a known application', { key: 'nobody' }, 'Consumer key not found'],
    ['no token in this step', { token: 'x' }, 'Token not found'],
  ])('must contain %s', async (_, ask, reason) => {
    const { post } = await localOAuth();
    const { status, errors } = await post(PATH, { ...GOOD, ...ask });
    expect([status, errors]).toEqual([401, [REFUSED + reason]]);
  });

  it('may omit oauth_version', async () => {
    const { post } = await localOAuth();
    const ask = { ...GOOD, signed: { oauth_version: undefined } };
    expect((await post(PATH, ask)).status).toBe(200);
  });

  it.each<[string, Ask]>([
    ['the secret of the application', { secret: 'wrong' }],
    ['the secret of a token', { tokenSecret: 'wrong' }],
    ['a signature', { forged: { oauth_signature: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' } }],
    ['a parameter', { forged: { oauth_nonce: 'another' } }],
    ['one more parameter', { forged: { x: 'y' } }],
    ['the form', { body: `oauth_callback=${encodeURIComponent(CALLBACK)}&x=y` }],
  ])('is rejected if %s differs from what was signed', async (_, ask) => {
    const { post } = await localOAuth();
    const { status, errors } = await post(PATH, { ...GOOD, ...ask });
    expect([status, errors]).toEqual([401, [BAD_SIGNATURE]]);
  });

  it('is signed including its query, even with repeated parameters', async () => {
    const { post } = await localOAuth();
    const query = 'b=%3D%253D&a=x+y&a=%20&c@=&&d';
    const form = [
      ['oauth_callback', CALLBACK],
      ['a', ' '],
      ['a', '☃ & !'],
      ['ü', ''],
    ] as const;
    expect((await post(PATH, { query, form })).status).toBe(200);
  });

  it('is accepted if the library oauth-1.0a signed it', async () => {
    const { addresses } = await localOAuth();
    const { consumerKey: key, consumerSecret: secret, oauthUrl } = addresses;
    const oauth = new OAuth({
      consumer: { key, secret },
      signature_method: 'HMAC-SHA1',
      hash_function: (base, signingKey) =>
        createHmac('sha1', signingKey).update(base).digest('base64'),
    });
    const url = oauthUrl + PATH;
    const data = { oauth_callback: CALLBACK };
    const authorized = oauth.authorize({ url, method: 'POST', data });
    // The library signs with the real time, but the service has its own clock.
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...oauth.toHeader(authorized) },
    });
    expect(response.status).toBe(401);
    expect(await response.text()).toContain('Timestamp out of bounds');
    oauth.getTimeStamp = () => Math.floor(NOW / SECOND);
    const good = await fetch(url, {
      method: 'POST',
      headers: { ...oauth.toHeader(oauth.authorize({ url, method: 'POST', data })) },
    });
    expect(good.status).toBe(200);
  });

  it.each([
    ['EXAMPLE.com:80', 200],
    ['example.com:8080', 401],
  ])(
    'is verified for the host in its Host header, whatever the letter case and default port: %s',
    async (host, status) => {
      const { addresses } = await localOAuth();
      const { consumerKey, consumerSecret, oauthUrl } = addresses;
      const parameters: Parameter[] = [
        ['oauth_callback', CALLBACK],
        ['oauth_consumer_key', consumerKey],
        ['oauth_nonce', 'x'],
        ['oauth_signature_method', 'HMAC-SHA1'],
        ['oauth_timestamp', seconds(NOW)],
      ];
      const signed = { method: 'POST', url: `http://example.com${PATH}`, parameters };
      const all = [
        ...parameters,
        ['oauth_signature', signatureOf(signed, consumerSecret)] as const,
      ];
      const authorization = `OAuth ${all.map(([name, value]) => `${name}="${percentEncode(value)}"`)}`;
      const request = http.request(oauthUrl + PATH, {
        method: 'POST',
        headers: { host, authorization },
      });
      request.end();
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      expect(response.statusCode).toBe(status);
    },
  );

  it.each<[string, Ask]>([
    ['header', { form: [...pairs(GOOD), ['oauth_nonce', 'x']] }],
    ['form', { form: [...pairs(GOOD), ...pairs(GOOD)] }],
    [
      'header and form with another value',
      { signed: { oauth_callback: CALLBACK }, form: { oauth_callback: 'oob' } },
    ],
    ['query', { ...GOOD, query: 'oauth_callback=oob' }],
    [
      'form, such as the verifier',
      { form: [...pairs(GOOD), ['oauth_verifier', '1'], ['oauth_verifier', '1']] },
    ],
  ])('may not repeat a protocol parameter in the %s', async (_, ask) => {
    const { post } = await localOAuth();
    const { status, errors } = await post(PATH, ask);
    expect([status, errors]).toEqual([
      400,
      [expect.stringMatching(/^The parameter oauth_\w+ comes more than once$/)],
    ]);
  });

  it.each(['once', 'twice'])(
    'may contain the same callback and verifier in header and form, if they are signed %s',
    async times => {
      const { post, service } = await localOAuth();
      const sent = (name: string, value: string): Ask => ({
        signed: { [name]: value },
        form: { [name]: value },
        ...(times === 'once' && { signedForm: {} }),
      });
      const asked = await post(PATH, sent('oauth_callback', CALLBACK));
      expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('oauth_token=')]);
      const token = String(asked.form.get('oauth_token'));
      const tokenSecret = String(asked.form.get('oauth_token_secret'));
      const user = { id: '7', handle: 'ann', name: 'Ann' };
      const verifier = verifierOf(await service.oauth.approve(token, user));
      const ask = { token, tokenSecret, ...sent('oauth_verifier', verifier) };
      const { status, text } = await post('/oauth/access_token', ask);
      expect([status, text]).toEqual([200, expect.stringContaining('user_id=')]);
    },
  );

  it.each(['once', 'twice'])(
    'may contain the same token in header and form, if the token is signed %s',
    async times => {
      const { post, requestToken, service } = await localOAuth();
      const { token, tokenSecret } = await requestToken();
      const user = { id: '7', handle: 'ann', name: 'Ann' };
      const verifier = verifierOf(await service.oauth.approve(token, user));
      const form = { oauth_token: token, oauth_verifier: verifier };
      const ask: Ask = { token, tokenSecret, form };
      const sent: Ask =
        times === 'twice' ? ask : { ...ask, signedForm: { oauth_verifier: verifier } };
      const other = { ...form, oauth_token: 'another' };
      expect((await post('/oauth/access_token', { ...ask, form: other })).status).toBe(400);
      const { status, text } = await post('/oauth/access_token', sent);
      expect([status, text]).toEqual([200, expect.stringContaining('user_id=')]);
    },
  );

  it.each<[string, Ask, number]>([
    ['too large', { body: 'x'.repeat(16 * 1024 + 1) }, 413],
    ['not UTF-8', { body: 'oauth_callback=%FF' }, 400],
    ['in gzip', { headers: { 'content-encoding': 'gzip' } }, 415],
  ])('is rejected if its body is %s', async (_, ask, status) => {
    const { post } = await localOAuth();
    const reply = await post(PATH, { ...GOOD, ...ask });
    expect([reply.status, reply.errors]).toEqual([status, [expect.any(String)]]);
  });

  it('never causes a server error, for any header and body', async () => {
    const { post, errors } = await localOAuth([], { limits: 'relaxed' });
    const name = fc.constantFrom('oauth_nonce', 'oauth_token', 'oauth_timestamp', 'realm', 'a b');
    const value = fc.oneof(fc.string(), fc.constantFrom('%', '%FF', '1715776496', 'x"y'));
    const parameter = fc.tuple(name, value).map(([name, value]) => `${name}="${value}"`);
    const header = fc.oneof(
      fc.string(),
      fc.array(parameter).map(all => `OAuth ${all.join(',')}`),
      fc.constant(undefined),
    );
    const text = fc.string({ unit: codePoint, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        header,
        text,
        fc.constantFrom(PATH, '/oauth/access_token'),
        async (...all) => {
          const [authorization, body, path] = all;
          const { status, errors } = await post(path, {
            body,
            ...(authorization !== undefined && { authorization }),
          });
          expect([400, 401]).toContain(status);
          expect(errors).toEqual([expect.any(String)]);
        },
      ),
      { numRuns: bySuite(5, 240) },
    );
    expect(errors).toEqual([]);
  });

  it('must be a POST', async () => {
    const { addresses } = await localOAuth();
    for (const path of [PATH, '/oauth/access_token', '/insights/engagement/totals']) {
      const response = await fetch(addresses.oauthUrl + path);
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
      expect(await response.json()).toEqual({ errors: [expect.any(String)] });
    }
  });

  it('is affected by planted faults', async () => {
    const { service, post } = await localOAuth();
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'oauth' });
    expect((await post(PATH, GOOD)).status).toBe(503);
    expect((await post(PATH, GOOD)).status).toBe(200);
  });
});

describe('the timestamp of an OAuth-signed request', () => {
  it.each([0, 5 * MINUTE, -5 * MINUTE])(
    'may differ slightly from the time of the service: %d ms',
    async off => {
      const { post } = await localOAuth();
      const signed = { oauth_timestamp: seconds(NOW + off) };
      expect((await post(PATH, { ...GOOD, signed })).status).toBe(200);
    },
  );

  it.each([
    seconds(NOW + 5 * MINUTE + 2 * SECOND),
    seconds(NOW - 5 * MINUTE - 2 * SECOND),
    '0',
    '-1',
    '',
    '1e9',
    ` ${seconds(NOW)}`,
    `0${seconds(NOW)}`,
    '9'.repeat(400),
  ])('must be the current time of the service, not %s', async timestamp => {
    const { post } = await localOAuth();
    const { status, headers, errors } = await post(PATH, {
      ...GOOD,
      signed: { oauth_timestamp: timestamp },
    });
    expect(status).toBe(401);
    if (timestamp === '') return;
    expect(errors).toEqual([
      `${REFUSED}Timestamp out of bounds: it is ${seconds(NOW)} by the service's clock`,
    ]);
    expect(headers.get('date')).toBe(new Date(NOW).toUTCString());
  });

  it('may be any number if the limits of the service allow any age', async () => {
    const { post } = await localOAuth([], { limits: { signedWithinMs: Number.POSITIVE_INFINITY } });
    for (const timestamp of ['1', seconds(Date.now())])
      expect((await post(PATH, { ...GOOD, signed: { oauth_timestamp: timestamp } })).status).toBe(
        200,
      );
  });

  it('is checked against the clock of the service, even if that clock was moved back', async () => {
    const { service, post } = await localOAuth();
    for (const ms of [15 * 24 * 60 * MINUTE, -30 * 24 * 60 * MINUTE]) {
      service.clock.advance(ms);
      expect((await post(PATH, GOOD)).status).toBe(200);
    }
  });
});

describe('the nonce of an OAuth-signed request', () => {
  it('is accepted only once, even in concurrent requests', async () => {
    const { post } = await localOAuth();
    const ask = { ...GOOD, signed: { oauth_nonce: 'once' } };
    const replies = await Promise.all(Array.from({ length: 100 }, () => post(PATH, ask)));
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 99 }, () => 401)]);
    const { errors } = await post(PATH, ask);
    expect(errors).toEqual([`${REFUSED}oauth_nonce was used before`]);
  });

  it('can be used again after a request with a bad signature', async () => {
    const { post } = await localOAuth();
    const ask = { ...GOOD, signed: { oauth_nonce: 'once' } };
    await post(PATH, { ...ask, secret: 'wrong' });
    expect((await post(PATH, ask)).status).toBe(200);
  });

  it('may be used again with another timestamp or by another application', async () => {
    const { addresses, post } = await localOAuth();
    const { unapprovedConsumerKey: key, unapprovedConsumerSecret: secret } = addresses;
    const signed = { oauth_nonce: 'once' };
    const earlier = { ...signed, oauth_timestamp: seconds(NOW - SECOND) };
    expect((await post(PATH, { ...GOOD, signed })).status).toBe(200);
    expect((await post(PATH, { ...GOOD, signed: earlier })).status).toBe(200);
    expect((await post(PATH, { ...GOOD, signed, key, secret })).status).toBe(200);
  });

  it('is stored as long as its timestamp is accepted', async () => {
    const { service, post } = await localOAuth();
    const signed = { oauth_nonce: 'once', oauth_timestamp: seconds(NOW + 5 * MINUTE) };
    expect((await post(PATH, { ...GOOD, signed })).status).toBe(200);
    for (let minute = 0; minute < 10; minute++) {
      service.clock.advance(MINUTE);
      expect((await post(PATH, { ...GOOD, signed })).status).toBe(401);
    }
  });

  it('is still rejected a second time after the nonce file was compacted', async () => {
    const stateFolder = await temporaryFolder();
    const file = path.join(stateFolder, 'oauth', 'nonces.jsonl');
    const linesOf = async () => (await readFile(file, 'utf8')).trimEnd().split('\n');
    const request = (nonce: string): Ask => ({ ...GOOD, signed: { oauth_nonce: nonce } });
    const start = () => localOAuth([], { stateFolder });
    const first = await start();
    expect((await first.post(PATH, request('before'))).status).toBe(200);
    await first.stop();
    const [live = ''] = await linesOf();
    const expired = JSON.stringify([Number(seconds(NOW - 60 * MINUTE)), 'expired']);
    const stale = Array.from({ length: 10_010 }, (_, i) =>
      expired.replace('expired', `expired-${i}`),
    );
    await writeFile(file, `${[...stale, live].join('\n')}\n`);

    const second = await start();
    expect((await second.post(PATH, request('compacts'))).status).toBe(200);
    const compacted = await linesOf();
    expect([compacted.length, compacted[0]]).toEqual([2, live]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await second.post(PATH, request('after'))).status).toBe(200);
    expect((await linesOf()).slice(0, 2)).toEqual(compacted);
    await second.stop();

    const third = await start();
    for (const nonce of ['before', 'compacts', 'after'])
      expect((await third.post(PATH, request(nonce))).errors).toEqual([
        `${REFUSED}oauth_nonce was used before`,
      ]);
    expect([first.errors, second.errors, third.errors].flat()).toEqual([]);
  });
});

function pairs({ form = {} }: Ask): [string, string][] {
  return Object.entries(form as Record<string, string>);
}
