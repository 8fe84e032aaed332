import { describe, expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';

describe('the ids of generated posts', () => {
  test('contain the time of the post from November 2010 on, and are small numbers before', () => {
    const [early] = samplePosts(Date.UTC(2009, 5, 1), { postsPerMinute: 5 });
    expect(Number(early?.id)).toBeLessThan(30_000_000_000);
    for (const post of samplePosts(Date.UTC(2019, 5, 1), { postsPerMinute: 50 })) {
      const at = Number(BigInt(post.id) >> 22n) + 1_288_834_974_657;
      expect(Math.floor(at / 1000) * 1000).toBe(post.postedAt.getTime());
    }
  });

  test('keep increasing across the date from which they contain the time of the post', () => {
    const at = Date.UTC(2010, 10, 4, 1, 40);
    const ids = [0, 1, 2, 3, 4, 5, 6].flatMap(i =>
      samplePosts(at + i * MINUTE, { postsPerMinute: 60 }).map(({ id }) => BigInt(id)),
    );
    expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] as bigint))).toBe(true);
    expect((ids[0] as bigint) < 30_000_000_000n && (ids.at(-1) as bigint) > 40_000_000_000n).toBe(
      true,
    );
  });
});
