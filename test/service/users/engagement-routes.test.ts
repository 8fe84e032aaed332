import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { BOTH, idOf, MINE, PATH, post, signedIn } from './engagement-posts.js';
import { type Ask, localOAuth } from './local-oauth.js';

describe('a request for engagement totals', () => {
  const posts = [post(MINE)];
  const json = {
    tweet_ids: [idOf(MINE)],
    engagement_types: ['favorites'],
    groupings: { g: BOTH },
  };

  it('must come from an approved application', async () => {
    const local = await localOAuth(posts);
    const { unapprovedConsumerKey: key, unapprovedConsumerSecret: secret } = local.addresses;
    const token = await local.signIn('ann', { key, secret });
    const reply = await local.post(PATH, { ...token, key, secret, json });
    expect([reply.status, reply.errors]).toEqual([403, ['Your application id is not authorized.']]);
    const other = await local.post(PATH, { ...token, json });
    expect([other.status, other.errors]).toEqual([
      401,
      ['Your account could not be authenticated. Reason: Access token not found'],
    ]);
  });

  it.each<[string, Ask]>([
    ['no token', {}],
    ['a token that does not exist', { token: '7-x', tokenSecret: 'y' }],
  ])('must be signed with an access token: %s', async (_, ask) => {
    const { post } = await localOAuth(posts);
    const reply = await post(PATH, { ...ask, json });
    expect([reply.status, reply.errors]).toEqual([
      401,
      ['Your account could not be authenticated. Reason: Access token not found'],
    ]);
  });

  it('cannot be signed with a request token', async () => {
    const { requestToken, post } = await localOAuth(posts);
    expect((await post(PATH, { ...(await requestToken()), json })).status).toBe(401);
  });

  it('must be signed with the token secret, but the signature does not cover its JSON', async () => {
    const { ask } = await signedIn(posts);
    const reply = await ask(json, { tokenSecret: 'wrong' });
    expect([reply.status, reply.errors]).toEqual([401, [expect.stringMatching(/^3040: /)]]);
    expect((await ask(json, { body: `  ${JSON.stringify(json)}` })).status).toBe(200);
  });

  it('is rate-limited per minute, and its response states how many requests remain', async () => {
    const limits = { engagementRate: { requests: 2, perMs: MINUTE } };
    const { service, ask } = await signedIn(posts, { limits });
    const left = async () => {
      const { status, headers } = await ask(json);
      return [
        status,
        headers.get('x-per-minute-limit'),
        headers.get('x-per-minute-remaining'),
        headers.get('retry-after'),
      ];
    };
    expect(await left()).toEqual([200, '2', '1', null]);
    expect(await left()).toEqual([200, '2', '0', null]);
    expect(await left()).toEqual([429, '2', '0', '60']);
    expect((await ask(json)).errors).toEqual(['Your app has exceeded the limit on API requests.']);
    service.clock.advance(MINUTE);
    expect((await ask(json)).status).toBe(200);
  });
});
