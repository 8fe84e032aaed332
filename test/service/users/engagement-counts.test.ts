import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import { samplePosts } from '../../../src/service/index.js';
import {
  GROUPS,
  groupTotals,
  TOTALED_TYPES,
} from '../../../src/service/users/engagement-counts.js';
import { NOW } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import {
  BOTH,
  bodyOf,
  idOf,
  MINE,
  PATH,
  type PostOptions,
  post,
  signedIn,
} from './engagement-posts.js';
import { localOAuth } from './local-oauth.js';

const OTHER: PostOptions = { ago: 3 * DAY, low: 1, favorites: 7 };

describe('the engagement totals of the local service', () => {
  const posts = [post(MINE), post(OTHER)];
  const [id, other] = [idOf(MINE), idOf(OTHER)];

  it('are strings, grouped by post and type', async () => {
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

  it('can be grouped by type and post in any order, or by one of them', async () => {
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

  it('contain only the requested types, and each post once', async () => {
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

  it('are sent as gzip if the client accepts gzip', async () => {
    const { totals } = await signedIn(posts);
    expect((await totals([id])).headers.get('content-encoding')).toBe('gzip');
  });

  it('have the same sum however they are grouped', () => {
    const counts = fc.record({ favorites: fc.nat(), retweets: fc.nat(), replies: fc.nat() });
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[1-9]\d{0,18}$/), counts, { minKeys: 1 }),
        fc.shuffledSubarray([...TOTALED_TYPES], { minLength: 1 }),
        fc.shuffledSubarray([...GROUPS], { minLength: 1 }),
        (posts, types, groups) => {
          const groupings = new Map([['g', groups]]);
          const totals = groupTotals({ types, groupings }, new Map(Object.entries(posts)));
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

describe('an engagement count in the totals of the local service', () => {
  const mine = (favorites?: number): PostOptions =>
    favorites === undefined ? { ago: 40 * DAY } : { ago: 40 * DAY, favorites };
  const id = idOf(mine());
  const later = (ms: number, low = 0) => ({ ago: 40 * DAY - ms, low, author: '8' });

  it.each(['original', 'activity_streams'] as const)(
    'is the largest number that any post of the archive states (format %s)',
    async format => {
      const posts = [
        post(mine(3), format),
        post({ ...later(SECOND), retweetOf: mine(9) }, format),
        post({ ...later(31 * DAY - SECOND), retweetOf: mine(4) }, format),
        // This retweet was posted more than 31 days after the post.
        post({ ...later(31 * DAY + SECOND), retweetOf: mine(99) }, format),
        post({ ...later(HOUR), replyTo: id }, format),
        post({ ...later(HOUR, 1), replyTo: '123' }, format),
      ];
      const { totals } = await signedIn([], { archive: new MemoryArchive(posts, format) });
      expect(bodyOf(await totals([id]))).toEqual({
        g: { [id]: { favorites: '9', retweets: '2', replies: '1' } },
      });
    },
  );

  it('is not lower than the number that the post itself states', async () => {
    const said = { ...mine(3), retweets: 50, replies: 60 };
    const { totals } = await signedIn([
      post(said),
      post({ ...later(SECOND), retweetOf: mine(1) }),
      post({ ...later(HOUR), replyTo: id }),
    ]);
    expect(bodyOf(await totals([id]))).toEqual({
      g: { [id]: { favorites: '3', retweets: '50', replies: '60' } },
    });
  });

  it('includes replies up to 31 days after the second of two posts', async () => {
    const [first, second] = [{ ago: 60 * DAY }, { ago: 50 * DAY }];
    const { totals } = await signedIn([
      post(first),
      post(second),
      post({ ago: 20 * DAY, author: '8', replyTo: idOf(second) }),
    ]);
    expect(bodyOf(await totals([idOf(first), idOf(second)]))).toMatchObject({
      g: { [idOf(first)]: { replies: '0' }, [idOf(second)]: { replies: '1' } },
    });
  });

  it('includes retweets from years ago, even very many', async () => {
    const old = { ago: 3000 * DAY, low: 5 };
    const reposts = Array.from({ length: 1100 }, (_, i) =>
      post({ ago: old.ago - MINUTE - i * 10, low: i, author: '8', retweetOf: old }),
    );
    const { totals } = await signedIn([post(old), post(mine()), ...reposts]);
    expect(bodyOf(await totals([id, idOf(old)]))).toEqual({
      g: {
        [id]: { favorites: '0', retweets: '0', replies: '0' },
        [idOf(old)]: { favorites: '0', retweets: '1100', replies: '0' },
      },
    });
  });

  it('is the same in every request for a generated post', async () => {
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

describe('a post for which the local service has no engagement totals', () => {
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

  it('is listed as an error next to the totals of the other posts', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals([...unknown, mine, ...others]);
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toEqual({
      g: { [mine]: { favorites: '5', retweets: '1', replies: '2' } },
      errors: [...forbidden, '3 Tweet ID(s) are unavailable'],
      unavailable_tweet_ids: unknown,
    });
  });

  it('causes a 403 if it belongs to another author', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals(others);
    expect([reply.status, bodyOf(reply)]).toEqual([403, { errors: forbidden }]);
    const mixed = await totals([...others, '1']);
    expect([mixed.status, bodyOf(mixed)]).toEqual([
      403,
      { errors: [...forbidden, '1 Tweet ID(s) are unavailable'], unavailable_tweet_ids: ['1'] },
    ]);
  });

  it('causes a 400 if none of the requested posts is in the archive', async () => {
    const { totals } = await signedIn(posts);
    const reply = await totals(unknown);
    expect([reply.status, bodyOf(reply)]).toEqual([
      400,
      { errors: ['3 Tweet ID(s) are unavailable'], unavailable_tweet_ids: unknown },
    ]);
  });

  it('causes a 403 after its author has revoked the token', async () => {
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

  it('can be a post that a compliance event hides', async () => {
    const { service, totals } = await signedIn(posts);
    service.compliance.inject(
      `{"delete":{"status":{"id":${mine},"id_str":"${mine}","user_id":7,"user_id_str":"7"},"timestamp_ms":"${NOW}"}}`,
    );
    expect((await totals([mine])).status).toBe(400);
  });
});

describe('the engagement totals of the local service with a time limit', () => {
  it('fail with a 503 if reading the reactions takes too long', async () => {
    const archive = new MemoryArchive([post(MINE)]);
    const { totals } = await signedIn([], { archive, searchTimeoutMs: 2000 });
    const search = archive.search.bind(archive);
    vi.spyOn(archive, 'search').mockImplementation(async (rule, window, options) => {
      expect(options.deadlineMs).toBeLessThanOrEqual(2000);
      const found = await search(rule, window, options);
      return options.limit === 1 ? found : { ...found, more: false, reached: post(MINE) };
    });
    const reply = await totals([idOf(MINE)], { 'My totals': BOTH });
    expect(reply.status).toBe(503);
    expect(reply.text).toContain('not found within 2 s');
  });

  it('fail with a 503 if finding a post takes too long', async () => {
    const archive = new MemoryArchive([post(MINE)]);
    const { totals } = await signedIn([], { archive });
    const reached = { at: 1, id: '0' };
    vi.spyOn(archive, 'search').mockResolvedValue({ posts: [], more: false, reached });
    // Ids without a time are found by a binary search.
    for (const id of [idOf(MINE), '20000000'])
      expect((await totals([id], { 'My totals': BOTH })).status).toBe(503);
  });
});
