import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthorizationError, DataError, OptionError } from '../../src/errors.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { Secret } from '../../src/secret.js';
import type { ServiceOptions } from '../../src/service/index.js';
import { DAY, MINUTE } from '../../src/time.js';
import type { GroupBy } from '../../src/users/engagement-request.js';
import { engagementTotals } from '../../src/users/engagement-totals.js';
import { signIn } from '../../src/users/sign-in.js';
import { json, type Received, ScriptedServer, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { idOf, type PostOptions, post } from '../service/users/engagement-posts.js';
import { bySuite } from '../slow-suite.js';
import { unchecked } from '../unchecked.js';
import { ANN, localUser } from './local-user.js';

const ONE: PostOptions = { ago: 2 * DAY, favorites: 5, retweets: 1, replies: 2 };
const TWO: PostOptions = { ago: 3 * DAY, favorites: 7 };
const FOREIGN: PostOptions = { ago: 4 * DAY, author: '8', favorites: 9 };
const GONE: PostOptions = { ago: 5 * DAY };
const [one, two, foreign, gone] = [ONE, TWO, FOREIGN, GONE].map(idOf) as [
  string,
  string,
  string,
  string,
];

/** A local service where ann has signed in. */
async function signedIn(posts = [ONE, TWO, FOREIGN], options: ServiceOptions = {}) {
  const local = await localUser(
    posts.map(of => post(of)),
    options,
  );
  const token = await signIn(local.acme, { open: local.consent });
  return { ...local, token };
}

function failureOf(promise: Promise<unknown>): Promise<AuthorizationError> {
  return promise.then(
    () => new Error('It did not fail'),
    error => error,
  );
}

describe('engagement totals of the local service', () => {
  it('are by post and type, as exact text', async () => {
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

  it('follow the grouping, and are numbers on request', async () => {
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

  it('name each post without totals, next to the totals of the others', async () => {
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

  it('are an error if no post is accessible, but not if all are deleted', async () => {
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

  it('are refused to an application that is not approved, and to wrong secrets', async () => {
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

  it('are requested for 250 posts at a time, and summed exactly', async () => {
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

  it('survive responses that fail, are cut, damaged or late', async () => {
    const { service, acme, token } = await signedIn();
    const whole = await engagementTotals(acme, { token, ids: [one, two] });
    const fault = { endpoint: 'engagement' } as const;
    for (const planted of [
      { ...fault, kind: 'status', status: 503, times: 2 },
      { ...fault, kind: 'cut', afterBytes: 20 },
      { ...fault, kind: 'flip', atByte: 30 },
      { ...fault, kind: 'delay', ms: 20 },
    ] as const) {
      service.faults.plant(planted);
      expect(await engagementTotals(acme, { token, ids: [one, two] })).toEqual(whole);
      // The fault has happened.
      expect(service.faults.list()).toEqual([]);
    }
  });

  it('use the token of the settings if none is passed', async () => {
    const { as, token } = await signedIn();
    const settled = as({ accessToken: token.token, accessTokenSecret: token.secret });
    expect((await engagementTotals(settled, { ids: [one] })).totals.byPost[one]?.replies).toBe('2');
    await expect(engagementTotals(as({}), { ids: [one] })).rejects.toThrow('MILLRACE_ACCESS_TOKEN');
  });

  it('keep to the rate that the service reports', async () => {
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

describe('a response of the service', () => {
  const server = new ScriptedServer();
  beforeEach(() => server.start());
  afterEach(() => server.stop());
  const acme = (options: AccountOptions = {}) =>
    account(
      {
        dataUrl: server.url,
        consumerKey: 'key',
        consumerSecret: 'secret',
        accessToken: 'canary-token',
        accessTokenSecret: 'canary-secret',
        retry: { firstWaitMs: 1, maxWaitMs: 1 },
        ...options,
      },
      {},
    );
  const ids = ['1', '20', '300'];

  it('is requested with an unsigned JSON body, and gzip', async () => {
    server.script.push(json({ byPost: {} }, { gzip: true }));
    await engagementTotals(acme(), { ids: ['1060976163948904448'], types: ['replies'] });
    const [{ method, url, headers, body }] = server.received as [Received];
    expect([method, url]).toEqual(['POST', '/insights/engagement/totals']);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['accept-encoding']).toBe('gzip');
    expect(headers.authorization).toMatch(/^OAuth .*oauth_token="canary-token"/);
    expect(body).toBe(
      '{"tweet_ids":["1060976163948904448"],"engagement_types":["replies"],"groupings":{"byPost":{"group_by":["tweet.id","engagement.type"]}}}',
    );
  });

  it('may have bare numbers, and counts of any size', async () => {
    const body =
      '{"byPost":{"1":{"favorites":26,"replies":"90071992547409931234"},"20":{"favorites":12345678901234567}}}';
    server.script.push(status(200, body), status(200, body));
    expect((await engagementTotals(acme(), { ids })).totals.byPost).toEqual({
      1: { favorites: '26', replies: '90071992547409931234' },
      20: { favorites: '12345678901234567' },
    });
    const error = await failureOf(engagementTotals(acme(), { ids, counts: 'number' }));
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain("counts: 'bigint'");
  });

  it('is an error if it has another shape, and is requested again if it is cut', async () => {
    for (const body of [
      '[]',
      '{"byPost":[]}',
      '{"byPost":{"1":"5"}}',
      '{"byPost":{"1":{"favorites":"five"}}}',
      '{"byPost":{"1":{"favorites":-1}}}',
      '{"byPost":{"1":{"favorites":1.5}}}',
      '{"byPost":{"1":{"favorites":{}}}}',
      'null',
    ]) {
      server.script.push(status(200, body));
      const error = await failureOf(engagementTotals(acme(), { ids }));
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(server.url);
    }
    server.script.push(status(200, '{"byPost":{"1"'), json({ byPost: { 1: {} } }));
    expect((await engagementTotals(acme(), { ids })).totals).toEqual({ byPost: { 1: {} } });
  });

  it('may have errors of posts in any of their known forms', async () => {
    server.script.push(
      json({
        byPost: { 300: { favorites: '1' } },
        errors: [
          'Forbidden to access tweets for author id 20: 1',
          '2 Tweet ID(s) are unavailable',
          { code: 1, message: 'internal server error' },
          'Forbidden to access metrics: retweets',
        ],
        unavailable_tweet_ids: ['20', '999'],
        unsupported_for_video_views_tweet_ids: ['300'],
      }),
    );
    expect((await engagementTotals(acme(), { ids })).errors).toEqual([
      { id: '1', message: 'Forbidden to access tweets for author id 20: 1' },
      { id: '20', message: '2 Tweet ID(s) are unavailable' },
      { message: 'internal server error' },
      { message: 'Forbidden to access metrics: retweets' },
      { id: '300', message: 'unsupported_for_video_views_tweet_ids' },
    ]);
  });

  it('that refuses some batches does not affect the others', async () => {
    const many = Array.from({ length: 500 }, (_, i) => String(i + 1));
    const refused = JSON.stringify({
      errors: [`Forbidden to access tweets for author id 7: ${many.slice(0, 250).join(', ')}`],
    });
    server.script.push(status(403, refused), json({ byPost: { 251: { favorites: '3' } } }));
    const { totals, errors } = await engagementTotals(acme(), { ids: many });
    expect(totals.byPost).toEqual({ 251: { favorites: '3' } });
    expect(errors.map(({ id }) => id)).toEqual(many.slice(0, 250));
    server.script.push(status(403, refused), status(401, '{"errors":["Access token not found"]}'));
    const error = await failureOf(engagementTotals(acme(), { ids: many }));
    expect(error).toMatchObject({ failure: 'token', status: 401 });
    expect(inspect(error, { depth: 9 })).not.toContain('canary');
  });

  it('that refuses because of some posts is requested once more for the others', async () => {
    server.script.push(
      status(403, '{"errors":["Forbidden to access tweets for author id 7: 20"]}'),
      status(400, '{"errors":["Not an id in tweet_ids: 300"]}'),
      json({ byPost: { 1: { favorites: '3' } } }),
    );
    const { totals, errors } = await engagementTotals(acme(), { ids: ['1', '20', '300'] });
    expect(totals.byPost).toEqual({ 1: { favorites: '3' } });
    expect(errors.map(({ id }) => id)).toEqual(['20', '300']);
    expect(server.received.map(({ body }) => JSON.parse(body).tweet_ids)).toEqual([
      ['1', '20', '300'],
      ['1', '300'],
      ['1'],
    ]);
  });

  it('is not requested without posts', async () => {
    expect(await engagementTotals(acme(), { ids: [] })).toEqual({
      totals: { byPost: {} },
      errors: [],
    });
    expect(server.received).toEqual([]);
  });

  it.each([
    [{ ids: [Number('1050118621198921728')] }, /`ids`.*a number.*lose digits/],
    [{ ids: ['1e3'] }, /"1e3"/],
    [{ ids: '1' }, /`ids`/],
    [{ types: ['impressions'] }, /favorites, retweets, replies, got "impressions"/],
    [{ types: [] }, /`types`/],
    [{ groupings: {} }, /`groupings`/],
    [{ groupings: { a: {}, b: {}, c: {}, d: {} } }, /one to 3/],
    [{ groupings: { errors: { group_by: ['tweet.id'] } } }, /"errors"/],
    [{ groupings: { a: { group_by: [] } } }, /groupings\.a\.group_by/],
    [{ groupings: { a: { group_by: ['tweet.id', 'tweet.id'] } } }, /each once/],
    [{ groupings: { a: { group_by: ['engagement.day'] } } }, /engagement\.day/],
    [{ groupings: { a: { groupBy: ['tweet.id'] } } }, /groupBy/],
    [{ counts: 'float' }, /`counts`/],
    [{ token: 'abc' }, /`token`/],
    [{ tokn: 1 }, /tokn/],
  ])('is not requested with %j', async (options, message) => {
    const error = await failureOf(engagementTotals(acme(), unchecked({ ids, ...options })));
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toMatch(message);
    expect(server.received).toEqual([]);
  });

  it('adds up over any batches and grouping', async () => {
    const bys: GroupBy[][] = [
      ['tweet.id'],
      ['engagement.type'],
      ['tweet.id', 'engagement.type'],
      ['engagement.type', 'tweet.id'],
    ];
    const types = ['favorites', 'replies'] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...bys),
        fc.integer({ min: 1, max: 700 }),
        fc.bigInt({ min: 0n, max: 10n ** 24n }),
        async (group_by, total, unit) => {
          const count = (id: string, type: string) => BigInt(id) * (type === 'replies' ? unit : 1n);
          const asked = (request: Received) => request.params.tweet_ids as string[];
          const grouped = (
            of: readonly string[],
            by: readonly GroupBy[],
            id?: string,
            type?: string,
          ): unknown => {
            const [first, ...rest] = by;
            const all = (id === undefined ? of : [id]).flatMap(one =>
              (type === undefined ? types : [type]).map(kind => count(one, kind)),
            );
            if (first === undefined) return String(all.reduce((a, b) => a + b, 0n));
            if (first === 'tweet.id')
              return Object.fromEntries(of.map(one => [one, grouped(of, rest, one, type)]));
            return Object.fromEntries(types.map(kind => [kind, grouped(of, rest, id, kind)]));
          };
          server.otherwise = (response, request) =>
            json({ g: grouped(asked(request), group_by) })(response, request);
          server.received.splice(0);
          const all = Array.from({ length: total }, (_, i) => String(i + 1));
          const { totals } = await engagementTotals(acme(), {
            ids: all,
            types,
            groupings: { g: { group_by } },
          });
          expect(totals.g).toEqual(grouped(all, group_by));
          expect(server.received.map(request => asked(request).length)).toEqual(
            [250, 250, 250]
              .map((most, i) => Math.min(most, Math.max(0, total - i * 250)))
              .filter(n => n > 0),
          );
        },
      ),
      { numRuns: bySuite(10, 120) },
    );
  });
});
