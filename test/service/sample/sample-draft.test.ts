import { describe, expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { original } from './sample-posts-of.js';

describe('the generated posts', () => {
  test('include every kind of post in several languages', () => {
    const kinds = new Map<string, number>();
    const see = (kind: string) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    for (const post of samplePosts(Date.UTC(2024, 5, 1, 12), { postsPerMinute: 3000 })) {
      const { entities, place, coordinates, extended_entities } = original(post);
      see(`lang:${post.lang}`);
      if (post.verb === 'share') see('retweet');
      if (post.quoted !== undefined) see('quote');
      if (original(post).in_reply_to_status_id !== null) see('reply');
      if ((post.edits?.ids.length ?? 0) > 1) see('edit');
      if (place !== null) see('place');
      if (coordinates !== null) see('point');
      for (const medium of extended_entities?.media ?? []) see(medium.type);
      for (const name of ['hashtags', 'symbols', 'urls', 'user_mentions'] as const)
        if (entities[name].length > 0) see(name);
    }
    for (const kind of [
      ...[
        'lang:en',
        'lang:ja',
        'lang:es',
        'lang:pt',
        'lang:ar',
        'lang:ko',
        'lang:tr',
        'lang:fr',
        'lang:und',
      ],
      ...['retweet', 'quote', 'reply', 'edit', 'place', 'point', 'photo', 'video', 'animated_gif'],
      ...['hashtags', 'symbols', 'urls', 'user_mentions'],
    ])
      expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(0);
  });

  test('retweet and quote only posts that exist', () => {
    const at = Date.UTC(2024, 5, 1, 12);
    const options = { postsPerMinute: 30 };
    for (const post of samplePosts(at, options)) {
      for (const other of [post.retweeted, post.quoted]) {
        if (other === undefined) continue;
        const there = samplePosts(other.postedAt, options).find(({ id }) => id === other.id);
        expect(there?.text).toBe(other.text);
        expect(there?.author).toEqual(other.author);
      }
    }
  });

  test('contain text when there is no earlier post to retweet', () => {
    const at = Date.UTC(2024, 5, 1, 12);
    for (let minute = 0; minute < 3_000; minute++)
      for (const { text, verb } of samplePosts(at + minute * MINUTE, { postsPerMinute: 0.1 }))
        if (verb !== 'share') expect(text).not.toBe('');
  });
});
