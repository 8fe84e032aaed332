import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Activity } from '../../../src/post/activity.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { bySuite } from '../../suite.js';
import { minute, options, streams } from './sample-posts-of.js';

function says(post: Activity): unknown {
  const { id, text, author, lang, link, verb, edits } = post;
  return {
    id,
    text,
    author,
    lang,
    link,
    verb,
    edits,
    postedAt: post.postedAt.getTime(),
    retweeted: post.retweeted === undefined ? undefined : says(post.retweeted),
    quoted: post.quoted === undefined ? undefined : says(post.quoted),
  };
}

describe('generated posts in Activity Streams', () => {
  test('have the same content as in the original format', () => {
    fc.assert(
      fc.property(minute, options, (at, choice) => {
        const a = samplePosts(at, { ...choice, format: 'original' });
        const b = samplePosts(at, { ...choice, format: 'activity_streams' });
        expect(b.map(says)).toEqual(a.map(says));
        expect(a.every(post => post.format === 'original')).toBe(true);
        expect(b.every(post => post.format === 'activity_streams')).toBe(true);
      }),
      { numRuns: bySuite(3, 120) },
    );
  });

  test('contain a long text in long_object, and the start of that text in the body', () => {
    const posts = samplePosts(Date.UTC(2024, 5, 1, 12), {
      postsPerMinute: 300,
      format: 'activity_streams',
    });
    const long = posts.map(streams).filter(post => post.long_object !== undefined);
    expect(long.length).toBeGreaterThan(5);
    for (const { body, long_object: whole, twitter_entities } of long) {
      expect(Array.from(body).length).toBeLessThanOrEqual(140);
      expect(Array.from(whole?.body ?? '').length).toBeGreaterThan(140);
      expect(twitter_entities.urls.at(-1)?.expanded_url).toMatch(
        /^https:\/\/twitter\.com\/i\/web\/status\/\d+$/,
      );
    }
  });
});
