import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { type ServiceOptions, samplePosts } from '../../../src/service/index.js';
import { engagementTotals } from '../../../src/service/users/engagement-totals.js';
import { ENGAGEMENT_TYPES, GROUPS } from '../../../src/service/users/read-engagement-request.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/time.js';
import { bySuite } from '../../slow-suite.js';
import { NOW } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import { idOf, type PostOptions, post } from './engagement-posts.js';
import { type Ask, localOAuth, type OAuthReply } from './local-oauth.js';

const PATH = '/insights/engagement/totals';
const BOTH = { group_by: ['tweet.id', 'engagement.type'] };

interface Totals {
  readonly [name: string]: unknown;
}

const MINE: PostOptions = { ago: 2 * DAY, favorites: 5, retweets: 1, replies: 2 };
const OTHER: PostOptions = { ago: 3 * DAY, low: 1, favorites: 7 };

/** A service where ann has signed in. */
async function signedIn(posts: readonly ArchivedPost[], options: ServiceOptions = {}) {
  const local = await localOAuth(posts, options);
  const token = await local.signIn('ann');
  const ask = (json: unknown, more: Ask = {}) => local.post(PATH, { ...token, json, ...more });
  const totals = async (ids: readonly string[], groupings: object = { g: BOTH }) =>
    ask({ tweet_ids: ids, engagement_types: ENGAGEMENT_TYPES, groupings });
  return { ...local, token, ask, totals };
}

function bodyOf({ text }: OAuthReply): Totals {
  return JSON.parse(text) as Totals;
}

describe('engagement totals', () => {
  const posts = [post(MINE), post(OTHER)];
  const [id, other] = [idOf(MINE), idOf(OTHER)];

  it('are strings, by post and type, under the name of the grouping', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals([other, id], { 'My totals': BOTH });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(reply.text).toBe(
      `{"My totals":{"${other}":{"favorites":"7","retweets":"0","replies":"0"},"${id}":{"favorites":"5","retweets":"1","replies":"2"}}}`,
    );
  });

  it('can be grouped in any order, by type or post, in up to three groupings', async () => {
    const { totals } = await signedIn(posts);
    const groupings = {
      swapped: { group_by: ['engagement.type', 'tweet.id'] },
      posts: { group_by: ['tweet.id'] },
      types: { group_by: ['engagement.type'] },
    };
    expect(bodyOf(await totals([id, other], groupings))).toEqual({
      swapped: {
        favorites: { [id]: '5', [other]: '7' },
        retweets: { [id]: '1', [other]: '0' },
        replies: { [id]: '2', [other]: '0' },
      },
      posts: { [id]: '8', [other]: '7' },
      types: { favorites: '12', retweets: '1', replies: '2' },
    });
  });

  it('have the requested types, and each post once', async () => {
    const { ask } = await signedIn(posts);
    const reply = await ask({
      tweet_ids: [id, id],
      engagement_types: ['replies', 'favorites', 'replies'],
      groupings: { g: BOTH, sum: { group_by: ['engagement.type'] } },
    });
    expect(bodyOf(reply)).toEqual({
      g: { [id]: { replies: '2', favorites: '5' } },
      sum: { replies: '2', favorites: '5' },
    });
  });

  it('come in gzip if the client accepts it', async () => {
    const { totals } = await signedIn(posts);
    expect((await totals([id])).headers.get('content-encoding')).toBe('gzip');
  });

  it('add up, however they are grouped', () => {
    const counts = fc.record({ favorites: fc.nat(), retweets: fc.nat(), replies: fc.nat() });
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[1-9]\d{0,18}$/), counts, { minKeys: 1 }),
        fc.shuffledSubarray([...ENGAGEMENT_TYPES], { minLength: 1 }),
        fc.shuffledSubarray([...GROUPS], { minLength: 1 }),
        (posts, types, groups) => {
          const groupings = new Map([['g', groups]]);
          const totals = engagementTotals({ types, groupings }, new Map(Object.entries(posts)));
          const leaves = (value: unknown): string[] =>
            typeof value === 'string' ? [value] : Object.values(value as object).flatMap(leaves);
          const sum = Object.values(posts).reduce(
            (all, one) => all + types.reduce((some, type) => some + one[type], 0),
            0,
          );
          expect(leaves(totals).reduce((all, one) => all + Number(one), 0)).toBe(sum);
        },
      ),
    );
  });
});

describe('engagement', () => {
  const mine = (favorites?: number): PostOptions =>
    favorites === undefined ? { ago: 40 * DAY } : { ago: 40 * DAY, favorites };
  const id = idOf(mine());
  const later = (ms: number, low = 0) => ({ ago: 40 * DAY - ms, low, author: '8' });

  it.each(['original', 'activity_streams'] as const)(
    'is the largest number in the archive, %s',
    async format => {
      const posts = [
        post(mine(3), format),
        post({ ...later(SECOND), shares: mine(9) }, format),
        post({ ...later(31 * DAY - SECOND), shares: mine(4) }, format),
        // More than 31 days after the post.
        post({ ...later(31 * DAY + SECOND), shares: mine(99) }, format),
        post({ ...later(HOUR), replyTo: id }, format),
        post({ ...later(HOUR, 1), replyTo: '123' }, format),
      ];
      const { totals } = await signedIn([], { archive: new MemoryArchive(posts, format) });
      expect(bodyOf(await totals([id]))).toEqual({
        g: { [id]: { favorites: '9', retweets: '2', replies: '1' } },
      });
    },
  );

  it('is at least the number in the post', async () => {
    const said = { ...mine(3), retweets: 50, replies: 60 };
    const { totals } = await signedIn([
      post(said),
      post({ ...later(SECOND), shares: mine(1) }),
      post({ ...later(HOUR), replyTo: id }),
    ]);
    expect(bodyOf(await totals([id]))).toEqual({
      g: { [id]: { favorites: '3', retweets: '50', replies: '60' } },
    });
  });

  it('is counted for posts years apart, and for many reposts', async () => {
    const old = { ago: 3000 * DAY, low: 5 };
    const reposts = Array.from({ length: 1100 }, (_, i) =>
      post({ ago: old.ago - MINUTE - i * 10, low: i, author: '8', shares: old }),
    );
    const { totals } = await signedIn([post(old), post(mine()), ...reposts]);
    expect(bodyOf(await totals([id, idOf(old)]))).toEqual({
      g: {
        [id]: { favorites: '0', retweets: '0', replies: '0' },
        [idOf(old)]: { favorites: '0', retweets: '1100', replies: '0' },
      },
    });
  });

  it('of generated posts is the same each time', async () => {
    const now = Date.UTC(2024, 4, 15);
    const options = { seed: 3, format: 'activity_streams' } as const;
    const made = samplePosts(now - 2 * DAY, options).filter(({ verb }) => verb === 'post');
    const [first] = made;
    if (first === undefined) throw new Error('No posts');
    const bodies = [];
    for (let i = 0; i < 2; i++) {
      const local = await localOAuth([], { ...options, archive: undefined, limits: 'relaxed' });
      local.service.clock.set(now);
      const token = await local.signIn(first.author.handle);
      const json = {
        tweet_ids: [first.id],
        engagement_types: ['favorites', 'retweets', 'replies'],
        groupings: { g: BOTH },
      };
      const reply = await local.post(PATH, { ...token, json });
      expect(reply.status).toBe(200);
      bodies.push(reply.text);
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(bodies[0]).toContain(`"${first.id}":{"favorites":"`);
  });
});

describe('posts without totals', () => {
  const theirs: PostOptions = { ago: DAY, author: '8' };
  const alsoTheirs: PostOptions = { ago: DAY, low: 1, author: '8' };
  const third: PostOptions = { ago: DAY, low: 2, author: '9007199254740993' };
  const posts = [MINE, theirs, alsoTheirs, third].map(options => post(options));
  const [mine = '', ...others] = [MINE, theirs, alsoTheirs, third].map(idOf);
  const forbidden = [
    `Forbidden to access tweets for author id 8: ${others[0]}, ${others[1]}`,
    `Forbidden to access tweets for author id 9007199254740993: ${others[2]}`,
  ];
  const unknown = ['1', '9223372036854775807', idOf({ ago: DAY, low: 3 })];

  it('are errors next to the totals of the others', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals([...unknown, mine, ...others]);
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toEqual({
      g: { [mine]: { favorites: '5', retweets: '1', replies: '2' } },
      errors: [...forbidden, '3 Tweet ID(s) are unavailable'],
      unavailable_tweet_ids: unknown,
    });
  });

  it('cause a 403 if they are of other authors, with or without unavailable ones', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals(others);
    expect([reply.status, bodyOf(reply)]).toEqual([403, { errors: forbidden }]);
    const mixed = await totals([...others, '1']);
    expect([mixed.status, bodyOf(mixed)]).toEqual([
      403,
      { errors: [...forbidden, '1 Tweet ID(s) are unavailable'], unavailable_tweet_ids: ['1'] },
    ]);
  });

  it('cause a 400 if none is in the archive', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals(unknown);
    expect([reply.status, bodyOf(reply)]).toEqual([
      400,
      { errors: ['3 Tweet ID(s) are unavailable'], unavailable_tweet_ids: unknown },
    ]);
  });

  it('are all posts after the user has revoked the token', async () => {
    const { service, totals } = await signedIn(posts);
    const [application] = service.oauth.applications;
    if (application === undefined) throw new Error('No application');
    await service.oauth.revoke({ id: '7' }, application);
    const reply = await totals([mine]);
    expect([reply.status, reply.errors]).toEqual([
      403,
      [`Forbidden to access tweets for author id 7: ${mine}`],
    ]);
  });

  it('include posts that compliance events hide', async () => {
    const { service, totals } = await signedIn(posts);
    service.compliance.inject(
      `{"delete":{"status":{"id":${mine},"id_str":"${mine}","user_id":7,"user_id_str":"7"},"timestamp_ms":"${NOW}"}}`,
    );
    expect((await totals([mine])).status).toBe(400);
  });
});

describe('the caller', () => {
  const posts = [post(MINE)];
  const json = {
    tweet_ids: [idOf(MINE)],
    engagement_types: ['favorites'],
    groupings: { g: BOTH },
  };

  it('must be an application that the operator has approved', async () => {
    const local = await localOAuth(posts);
    const { unapprovedConsumerKey: key, unapprovedConsumerSecret: secret } = local.addresses;
    const token = await local.signIn('ann', { key, secret });
    const reply = await local.post(PATH, { ...token, key, secret, json });
    expect([reply.status, reply.errors]).toEqual([403, ['Your application id is not authorized.']]);
    // Its token does not work for another application.
    const other = await local.post(PATH, { ...token, json });
    expect([other.status, other.errors]).toEqual([
      401,
      ['Your account could not be authenticated. Reason: Access token not found'],
    ]);
  });

  it.each<[string, Ask]>([
    ['no token', {}],
    ['one that no one was given', { token: '7-x', tokenSecret: 'y' }],
  ])('must have an access token: %s', async (_, ask) => {
    const { post } = await localOAuth(posts);
    const reply = await post(PATH, { ...ask, json });
    expect([reply.status, reply.errors]).toEqual([
      401,
      ['Your account could not be authenticated. Reason: Access token not found'],
    ]);
  });

  it('cannot use a request token', async () => {
    const { requestToken, post } = await localOAuth(posts);
    expect((await post(PATH, { ...(await requestToken()), json })).status).toBe(401);
  });

  it('signs with the secret of the token, and does not sign JSON', async () => {
    const { ask } = await signedIn(posts);
    const reply = await ask(json, { tokenSecret: 'wrong' });
    expect([reply.status, reply.errors]).toEqual([401, [expect.stringMatching(/^3040: /)]]);
    expect((await ask(json, { body: `  ${JSON.stringify(json)}` })).status).toBe(200);
  });

  it('has a number of requests a minute, and sees how many are left', async () => {
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

describe('a request for totals', () => {
  const posts = [post(MINE)];
  const id = idOf(MINE);
  const good = {
    tweet_ids: [id],
    engagement_types: ['favorites'],
    groupings: { g: BOTH },
  };
  const ids = (count: number) => Array.from({ length: count }, (_, i) => String(1_000 + i));

  it.each<[unknown, string]>([
    [
      { ...good, engagement_types: ['impressions'] },
      'Unsupported engagement type: impressions. Supported: favorites, retweets, replies',
    ],
    [
      { ...good, engagement_types: ['favorites', 5] },
      'Unsupported engagement type: 5. Supported: favorites, retweets, replies',
    ],
    [
      { ...good, engagement_types: [] },
      'engagement_types must be an array of one or more of favorites, retweets, replies',
    ],
    [
      { ...good, engagement_types: 'favorites' },
      'engagement_types must be an array of one or more of favorites, retweets, replies',
    ],
    [{ ...good, tweet_ids: undefined }, 'tweet_ids must be an array of one or more strings'],
    [{ ...good, tweet_ids: [] }, 'tweet_ids must be an array of one or more strings'],
    [{ ...good, tweet_ids: ids(251) }, 'tweet_ids must have 250 ids at most, not 251'],
    [{ ...good, tweet_ids: [5] }, 'tweet_ids must be strings: numbers lose digits of 64-bit ids'],
    [{ ...good, tweet_ids: ['x'] }, 'Not an id in tweet_ids: x'],
    [{ ...good, tweet_ids: ['05'] }, 'Not an id in tweet_ids: 05'],
    [
      { ...good, tweet_ids: ['9223372036854775808'] },
      'Not an id in tweet_ids: 9223372036854775808',
    ],
    [{ ...good, tweet_ids: [null] }, 'Not an id in tweet_ids: null'],
    [
      { ...good, groupings: {} },
      'groupings must be an object with one or more groupings by their names',
    ],
    [
      { ...good, groupings: [BOTH] },
      'groupings must be an object with one or more groupings by their names',
    ],
    [
      { ...good, groupings: { a: BOTH, b: BOTH, c: BOTH, d: BOTH } },
      'There may be 3 groupings at most, not 4',
    ],
    [{ ...good, groupings: { errors: BOTH } }, 'A grouping cannot have the name errors'],
    [{ ...good, groupings: { '': BOTH } }, 'A grouping cannot have the name '],
    [
      { ...good, groupings: { g: {} } },
      'The grouping g must have a group_by of one or more of tweet.id, engagement.type',
    ],
    [
      { ...good, groupings: { g: { group_by: ['tweet.id', 'engagement.day'] } } },
      'Unsupported group_by in the grouping g: engagement.day. Supported: tweet.id, engagement.type',
    ],
    [
      { ...good, groupings: { g: { group_by: ['tweet.id', 'tweet.id'] } } },
      'The group_by of the grouping g has the same group twice',
    ],
    [
      { ...good, start: 1 },
      'Unknown field: start. Supported: tweet_ids, engagement_types, groupings',
    ],
    [[good], 'Invalid JSON. The body must be a JSON object'],
  ])('is refused: %j', async (json, error) => {
    const { ask } = await signedIn(posts);
    const reply = await ask(json);
    expect([reply.status, reply.errors]).toEqual([400, [error]]);
  });

  it('lists all problems in one response', async () => {
    const { ask } = await signedIn(posts);
    const reply = await ask({ engagement_types: ['a\nb', 'c'], groupings: { g: BOTH } });
    expect(reply.errors).toEqual([
      'tweet_ids must be an array of one or more strings',
      'Unsupported engagement type: a b. Supported: favorites, retweets, replies',
      'Unsupported engagement type: c. Supported: favorites, retweets, replies',
    ]);
  });

  it.each<[string, Ask, number]>([
    ['no JSON', { body: '{"tweet_ids":' }, 400],
    ['no UTF-8', { body: '' }, 400],
    ['of another type', { contentType: 'text/plain' }, 415],
    ['too large', { body: ' '.repeat(256 * 1024 + 1) }, 413],
  ])('is refused if its body is %s', async (_, more, status) => {
    const { ask } = await signedIn(posts);
    const reply = await ask(good, more);
    expect([reply.status, reply.errors]).toEqual([status, [expect.any(String)]]);
  });

  it('never fails in another way, for any content', async () => {
    const { ask, errors } = await signedIn(posts, { limits: 'relaxed' });
    const some = <T>(value: fc.Arbitrary<T>, usual: unknown) =>
      fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: value });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          tweet_ids: some(fc.array(fc.oneof(fc.string(), fc.nat().map(String))), [id]),
          engagement_types: some(fc.jsonValue(), ['replies']),
          groupings: some(
            fc.dictionary(
              fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor')),
              fc.constantFrom<unknown>(BOTH, { group_by: ['tweet.id'] }, null, 5),
            ),
            { g: BOTH },
          ),
        }),
        async json => {
          const reply = await ask(json);
          expect([200, 400]).toContain(reply.status);
          expect(reply.status === 200 || reply.errors?.every(Boolean)).toBe(true);
          if (reply.status === 200)
            expect(Object.keys(bodyOf(reply))).toEqual(
              expect.arrayContaining(Object.keys(json.groupings as object)),
            );
        },
      ),
      { numRuns: bySuite(20, 240) },
    );
    expect(errors).toEqual([]);
  });
});
