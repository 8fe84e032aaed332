import { describe, expect, test } from 'vitest';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';

describe('a generated post', () => {
  test('has edit metadata only from 29 September 2022 on', () => {
    const before = samplePosts(Date.UTC(2022, 8, 28, 23, 59), { postsPerMinute: 50 });
    const after = samplePosts(Date.UTC(2022, 8, 29), { postsPerMinute: 50 });
    expect(before.some(post => post.edits !== undefined)).toBe(false);
    for (const post of after) expect(post.edits?.ids.at(-1)).toBe(post.id);
  });
});
