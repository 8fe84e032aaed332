import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FIRST_POST, MINUTE } from '../../../src/base/time.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { bySuite } from '../../suite.js';
import { minute, options, original } from './sample-posts-of.js';

describe('samplePosts', () => {
  test('returns the same bytes for the same seed and minute, whatever calls came before', () => {
    fc.assert(
      fc.property(minute, minute, options, (at, other, choice) => {
        const first = samplePosts(at, choice).map(post => post.raw.toString());
        samplePosts(other, { ...choice, seed: 'another' });
        samplePosts(other, choice);
        expect(samplePosts(new Date(at + 59_999), choice).map(post => post.raw.toString())).toEqual(
          first,
        );
      }),
      { numRuns: bySuite(3, 120) },
    );
  });

  test('returns different posts for another seed', () => {
    const at = Date.UTC(2024, 4, 1);
    const [a, b] = ['a', 'b'].map(seed =>
      samplePosts(at, { seed, postsPerMinute: 20 }).map(post => post.text),
    );
    expect(a).not.toEqual(b);
  });

  test('returns posts of the minute, in order of time and id', () => {
    fc.assert(
      fc.property(minute, options, (at, choice) => {
        const posts = samplePosts(at, choice);
        let last = { at: at, id: 0n };
        for (const post of posts) {
          const here = { at: post.postedAt.getTime(), id: BigInt(post.id) };
          expect(here.at).toBeGreaterThanOrEqual(last.at);
          expect(here.at).toBeLessThan(at + MINUTE);
          expect(here.id > last.id).toBe(true);
          last = here;
        }
      }),
      { numRuns: bySuite(4, 200) },
    );
  });

  test('returns posts whose authors joined the platform before they posted', () => {
    fc.assert(
      fc.property(minute, at => {
        for (const post of samplePosts(at, { postsPerMinute: 40 })) {
          const { user } = original(post);
          const joined = Date.parse(user.created_at);
          expect(joined).toBeGreaterThanOrEqual(FIRST_POST);
          expect(joined).toBeLessThanOrEqual(post.postedAt.getTime());
        }
      }),
      { numRuns: bySuite(20, 1000) },
    );
  });

  test('returns the configured number of posts over a day', () => {
    for (const postsPerMinute of [0.2, 3.5, 20]) {
      let posts = 0;
      for (let i = 0; i < 1440; i++)
        posts += samplePosts(Date.UTC(2012, 1, 3) + i * MINUTE, { postsPerMinute }).length;
      expect(posts / 1440 / postsPerMinute).toBeCloseTo(1, 1);
    }
  });
});
