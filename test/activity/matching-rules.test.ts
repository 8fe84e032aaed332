import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors.js';
import { minimal } from './minimal-post.js';

describe('the matching rules of a post', () => {
  it('are not mixed up, of thousands of posts', () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 1100; n++)
        expect(minimal({ id: 1, matching_rules: [{ tag: `t${n}`, id: n }] }).tags).toEqual([
          `t${n}`,
        ]);
  });

  it('are refused where the id of one is not an integer', () => {
    expect(() => minimal({ created_at: '' }).withMatchingRules([{ tag: null, id: 'x' }])).toThrow(
      OptionError,
    );
  });
});
