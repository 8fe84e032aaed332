import { describe, expect, test } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { FIRST_POST } from '../../../src/base/time.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';

describe('the options of generated posts', () => {
  test('cause an OptionError if their values are impossible', () => {
    expect(() => samplePosts(FIRST_POST - 1)).toThrow(OptionError);
    expect(() => samplePosts(Number.NaN)).toThrow(OptionError);
    expect(() => samplePosts(FIRST_POST, { postsPerMinute: -1 })).toThrow(OptionError);
    expect(() => samplePosts(FIRST_POST, { postsPerMinute: Number.NaN })).toThrow(OptionError);
  });
});
