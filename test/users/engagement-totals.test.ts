import { describe, expect, it } from 'vitest';
import { AuthorizationError } from '../../src/base/errors.js';
import { Secret } from '../../src/base/secret.js';
import { DAY, MINUTE } from '../../src/base/time.js';
import type { ServiceOptions } from '../../src/service/index.js';
import { engagementTotals } from '../../src/users/engagement-totals.js';
import { signIn } from '../../src/users/sign-in.js';
import { impatient } from '../http/virtual-time.js';
import { idOf, type PostOptions, post } from '../service/users/engagement-posts.js';
import { unchecked } from '../unchecked.js';
import { FOREIGN, foreign, gone, ONE, one, TWO, two } from './engagement-ids.js';
import { failureOf } from './failure-of.js';
import { ANN, localUser } from './local-user.js';

async function signedIn(posts = [ONE, TWO, FOREIGN], options: ServiceOptions = {}) {
  const local = await localUser(
    posts.map(of => post(of)),
    options,
  );
  const token = await signIn(local.acme, { open: local.consent });
  return { ...local, token };
}

describe('engagement totals of the local service', () => {
  it('are exact strings by post and type', async () => {
    const { acme, token } = await signedIn();
    expect(await engagementTotals(acme, { token, ids: [one, two, one] })).toEqual({
      totals: {
        byPost: {
          [one]: { favorites: '5', retweets: '1', replies: '2' },
          [two]: { favorites: '7', retweets: '0', replies: '0' },
        },
      },
      errors: [],
    });
  });

  it('are grouped as requested, and are numbers if `counts` is "number"', async () => {
    const { acme, token } = await signedIn();
    const groupings = {
      'by type': { group_by: ['engagement.type'] },
      byPost: { group_by: ['tweet.id'] },
      both: { group_by: ['engagement.type', 'tweet.id'] },
    } as const;
    const types = ['favorites', 'replies'] as const;
    const options = { token, ids: [one, two], groupings, types };
    expect((await engagementTotals(acme, { ...options, counts: 'number' })).totals).toEqual({
      'by type': { favorites: 12, replies: 2 },
      byPost: { [one]: 7, [two]: 7 },
      both: { favorites: { [one]: 5, [two]: 7 }, replies: { [one]: 2, [two]: 0 } },
    });
    const exact = await engagementTotals(acme, { ...options, counts: 'bigint' });
    expect(exact.totals['by type'].favorites).toBe(12n);
  });

  it('list each post without totals as an error beside the totals of the others', async () => {
    const { acme, token } = await signedIn();
    const { totals, errors } = await engagementTotals(acme, {
      token,
      ids: [gone, one, foreign],
    });
    expect(Object.keys(totals.byPost)).toEqual([one]);
    expect(errors).toEqual([
      { id: foreign, message: `Forbidden to access tweets for author id 8: ${foreign}` },
      { id: gone, message: '1 Tweet ID(s) are unavailable' },
    ]);
  });

  it('cause an error if no post is accessible, but not if all posts are deleted', async () => {
    const { service, acme, token } = await signedIn();
    const error = await failureOf(engagementTotals(acme, { token, ids: [foreign] }));
    expect(error).toBeInstanceOf(AuthorizationError);
    expect(error).toMatchObject({ failure: 'forbidden', authorId: '8', status: 403 });
    expect(error.message).toContain('Sign in as the author');
    expect(await engagementTotals(acme, { token, ids: [gone] })).toEqual({
      totals: { byPost: {} },
      errors: [{ id: gone, message: '1 Tweet ID(s) are unavailable' }],
    });
    const [application] = service.oauth.applications;
    await service.oauth.revoke(ANN, unchecked(application));
    const revoked = await failureOf(engagementTotals(acme, { token, ids: [one] }));
    expect(revoked).toMatchObject({ failure: 'forbidden', authorId: '7' });
  });

  it('cause an error for an application that is not approved, and for wrong secrets', async () => {
    const unapproved = { key: 'unapproved-application', secret: 'unapproved-application-secret' };
    const local = await localUser([post(ONE)]);
    const other = local.as({ consumerKey: unapproved.key, consumerSecret: unapproved.secret });
    const token = await signIn(other, { open: local.consent });
    expect(await failureOf(engagementTotals(other, { token, ids: [one] }))).toMatchObject({
      failure: 'application',
      message: expect.stringContaining(
        'not authorized. Ask the operator to approve the application',
      ),
    });
    const mine = await signIn(local.acme, { open: local.consent });
    expect(await failureOf(engagementTotals(local.acme, { token, ids: [one] }))).toMatchObject({
      failure: 'token',
    });
    const wrong = { token: mine.token, secret: new Secret('wrong') };
    expect(
      await failureOf(engagementTotals(local.acme, { token: wrong, ids: [one] })),
    ).toMatchObject({ failure: 'signature', status: 401 });
  });

  it('are requested for 250 posts at a time, and added up exactly', async () => {
    const posts = Array.from({ length: 620 }, (_, i): PostOptions => {
      return { ago: DAY + i * MINUTE, favorites: i, author: i % 50 === 0 ? '8' : '7' };
    });
    const { acme, token } = await signedIn(posts, { limits: 'relaxed' });
    const { totals, errors } = await engagementTotals(acme, {
      token,
      ids: posts.map(idOf),
      groupings: { sum: { group_by: ['engagement.type'] }, byPost: { group_by: ['tweet.id'] } },
    });
    const own = posts.filter(({ author }) => author === '7');
    const sum = own.reduce((all, { favorites = 0 }) => all + favorites, 0);
    expect(totals.sum).toEqual({ favorites: String(sum), retweets: '0', replies: '0' });
    expect(Object.keys(totals.byPost).length).toBe(own.length);
    expect(errors.map(({ id }) => id)).toEqual(
      posts.filter(({ author }) => author === '8').map(idOf),
    );
  });

  it.each([
    ['fails twice', { kind: 'status', status: 503, times: 2 }],
    ['is cut', { kind: 'cut', afterBytes: 20 }],
    ['is damaged', { kind: 'flip', atByte: 30 }],
    ['is late', { kind: 'delay', ms: 20 }],
  ] as const)('are complete after a response that %s', async (_, fault) => {
    const { service, acme, token } = await signedIn();
    const whole = await engagementTotals(acme, { token, ids: [one, two] });
    service.faults.plant({ ...fault, endpoint: 'engagement' });
    expect(await engagementTotals(acme, { token, ids: [one, two] })).toEqual(whole);
    expect(service.faults.list()).toEqual([]);
  });

  it('are requested with the token in the settings if no token is passed', async () => {
    const { as, token } = await signedIn();
    const settled = as({ accessToken: token.token, accessTokenSecret: token.secret });
    expect((await engagementTotals(settled, { ids: [one] })).totals.byPost[one]?.replies).toBe('2');
    await expect(engagementTotals(as({}), { ids: [one] })).rejects.toThrow('MILLRACE_ACCESS_TOKEN');
  });

  it('are requested at the rate that the service reports in its responses', async () => {
    const { as, token } = await signedIn([ONE], {
      limits: { engagementRate: { requests: 3, perMs: MINUTE } },
    });
    const timing = { ...impatient(), now: as({}).timing.now };
    const acme = as({ timing });
    await engagementTotals(acme, { token, ids: [one] });
    const pace = acme.rateLimiter('engagement', new URL(String(acme.settings.dataUrl)));
    (await pace.acquire()).responded();
    (await pace.acquire()).responded();
    expect(timing.slept).toEqual([]);
    await pace.acquire();
    expect(timing.slept.length).toBeGreaterThan(0);
  });
});
