import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import type { Activity } from '../../../src/index.js';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { added, NOW, serve, textsOf } from './serve-posts.js';

describe('a new post given with only a few fields', () => {
  it('gets all other fields, and is found by each of the given fields', async () => {
    const { found } = await serve({
      posts: [
        { text: 'Tea with #milk for @bob $TEA https://tea.example/a?b=c', author: 'ann', likes: 3 },
        {
          text: 'Tea later',
          author: { handle: 'bob', id: '77', name: 'Bob B.', followers: 12 },
          postedAt: '2024-05-14T10:00:00Z',
          id: '1790322147456000001',
          lang: 'de',
          retweets: 4,
        },
      ],
    });
    const posts = await found('tea');
    expect(posts).toHaveLength(2);
    const [first, second] = posts as [Activity, Activity];
    expect(second).toMatchObject({ id: '1790322147456000001', lang: 'de' });
    expect(second.author).toEqual({ id: '77', handle: 'bob', name: 'Bob B.' });
    expect(second.postedAt.toISOString()).toBe('2024-05-14T10:00:00.000Z');
    expect(first.postedAt.getTime()).toBe(Math.floor(NOW / 1000) * 1000 - MINUTE);
    expect(fieldsOf(first)).toMatchObject({
      hashtags: ['milk'],
      cashtags: ['TEA'],
      links: [{ expanded: 'https://tea.example/a?b=c' }],
    });
    for (const query of [
      '#milk',
      '@bob',
      'url:tea.example',
      'from:ann',
      '$TEA',
      'tea has:hashtags',
    ])
      expect(textsOf(await found(query)), query).toEqual([first.text]);
    expect(await found('coffee')).toEqual([]);
    // If the archive still had generated posts, some of them would match.
    expect(await found('from:bob OR from:ann')).toHaveLength(2);
  });

  it('refers by default to a retweeted post that is an hour older', () => {
    const [post] = added([{ retweeted: { text: 'inner' }, postedAt: NOW - HOUR }]).list();
    expect(post?.retweeted?.postedAt.getTime()).toBe(Math.floor((NOW - 2 * HOUR) / 1000) * 1000);
  });
});
