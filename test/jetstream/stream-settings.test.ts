import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countSubjects, subjectNumber, subjectsOf } from '../../src/jetstream/stream-settings.js';
import { numberedId } from './numbered-posts.js';

describe('subjects', () => {
  it('are counted only where they are numbered from 0', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(39), (count, gone) => {
        const all = subjectsOf('posts', count);
        expect(countSubjects('posts', [...all, 'other'].toReversed())).toBe(count);
        const broken = all.filter((_, number) => number !== gone);
        if (gone < count - 1) expect(countSubjects('posts', broken)).toBeUndefined();
      }),
    );
    for (const others of [[], ['posts'], ['posts.*'], ['posts.0', 'posts.*'], ['posts.0.1']])
      expect(countSubjects('posts', others)).toBeUndefined();
  });

  it.each([2, 8, 16, 100])('get about the same number of posts: %i', count => {
    const posts = Array.from({ length: count }, () => 0);
    const total = 2000 * count;
    for (let number = 0; number < total; number++) {
      const subject = subjectNumber(numberedId(number), count);
      posts[subject] = (posts[subject] ?? 0) + 1;
    }
    for (const one of posts) {
      expect(one).toBeGreaterThan(1600);
      expect(one).toBeLessThan(2400);
    }
  });
});
