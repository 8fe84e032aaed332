import { describe, expect, test } from 'vitest';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { original } from './sample-posts-of.js';

describe('generated posts in the original format', () => {
  test('have exact ids, both as numbers and as strings', () => {
    for (const post of samplePosts(Date.UTC(2023, 5, 1, 12), { postsPerMinute: 100 })) {
      const text = post.raw.toString();
      for (const [, name, number, twin] of text.matchAll(/"(\w+)":(\d+),"\1_str":"(\d+)"/g))
        expect(`${name} ${number}`).toBe(`${name} ${twin}`);
      expect(text).toContain(`"id":${post.id},"id_str":"${post.id}"`);
    }
  });

  test('have a banner only in profiles that are not the default profile', () => {
    const users = [...samplePosts(Date.UTC(2023, 5, 1, 12), { postsPerMinute: 100 })].map(
      post => original(post).user,
    );
    for (const { default_profile: isDefault, profile_banner_url: banner } of users)
      expect(banner).toEqual(isDefault ? undefined : expect.stringMatching(/^https:/));
    expect(new Set(users.map(user => user?.default_profile))).toEqual(new Set([true, false]));
  });
});
