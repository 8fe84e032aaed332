import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bySuite } from '../../suite.js';
import { BOTH, bodyOf, idOf, MINE, post, signedIn } from './engagement-posts.js';
import type { Ask } from './local-oauth.js';

describe('a request for engagement totals', () => {
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
  ])('is rejected with a 400 if it contains %j', async (json, error) => {
    const { ask } = await signedIn(posts);
    const reply = await ask(json);
    expect([reply.status, reply.errors]).toEqual([400, [error]]);
  });

  it('gets one response that lists all of its problems', async () => {
    const { ask } = await signedIn(posts);
    const reply = await ask({ engagement_types: ['a\nb', 'c'], groupings: { g: BOTH } });
    expect(reply.errors).toEqual([
      'tweet_ids must be an array of one or more strings',
      'Unsupported engagement type: a b. Supported: favorites, retweets, replies',
      'Unsupported engagement type: c. Supported: favorites, retweets, replies',
    ]);
  });

  it.each<[string, Ask, number]>([
    ['not JSON', { body: '{"tweet_ids":' }, 400],
    ['not UTF-8', { body: '' }, 400],
    ['of another type', { contentType: 'text/plain' }, 415],
    ['too large', { body: ' '.repeat(256 * 1024 + 1) }, 413],
  ])('is rejected if its body is %s', async (_, more, status) => {
    const { ask } = await signedIn(posts);
    const reply = await ask(good, more);
    expect([reply.status, reply.errors]).toEqual([status, [expect.any(String)]]);
  });

  it('never causes a server error, whatever its body', async () => {
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
      { numRuns: bySuite(5, 240) },
    );
    expect(errors).toEqual([]);
  });
});
