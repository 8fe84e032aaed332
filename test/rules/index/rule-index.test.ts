import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { compileRules } from '../../../src/rules/index/compile-rules.js';
import { IntPool } from '../../../src/rules/index/int-arrays.js';
import { RuleIndex } from '../../../src/rules/index/rule-index.js';
import { usualFrequency } from '../../../src/rules/index/term-frequency.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { dialectOf } from '../../../src/rules/post/dialect.js';
import { acceptedRule } from '../arbitrary-rule.js';
import { arbitraryDraft, original, postOf, VOCABULARY } from '../match/arbitrary-matching-post.js';

describe('the rule index', () => {
  it('returns the same matches after it has re-indexed rules by rarer terms', () => {
    const trees = fc.sample(acceptedRule('historical', VOCABULARY), {
      numRuns: 200,
      seed: 7,
    });
    const drafts = fc.sample(arbitraryDraft(), { numRuns: 300, seed: 7 });
    const matcher = compileRules(
      trees.map(({ text }, i) => ({ value: text, id: String(i + 1) })),
      // These frequencies are the reverse of the real ones, so that the index has much to learn.
      { frequency: term => 1 - usualFrequency(term) },
    );
    const posts = drafts.map(original);
    const answers = () => posts.map(activity => matcher.match(activity).map(rule => rule.id));
    const before = answers();
    expect(before.flat().length).toBeGreaterThan(500);
    for (let round = 0; round < 15; round++) expect(answers()).toEqual(before);
  });

  it('frees all memory of deleted rules', () => {
    const allocate = vi.spyOn(IntPool.prototype, 'allocate');
    const free = vi.spyOn(IntPool.prototype, 'free');
    const index = new RuleIndex(dialectOf('historical'), usualFrequency);
    const rules: number[] = [];
    for (let i = 0; i < 5_000; i++) {
      rules.push(index.add(parseRule(`word${i} (has:links OR "two words${i}")`).tree!));
      if (i >= 10) index.delete(rules[i - 10]!);
    }
    expect(index.terms).toBe(2 * 10 + 2);
    expect(allocate.mock.calls.length - free.mock.calls.length).toBeLessThan(100);
    vi.restoreAllMocks();
    expect(new Set(rules).size).toBe(11);
    expect(index.match(fieldsOf(postOf('word4995 two words4995')))).toEqual([rules[4_995]]);
    expect(index.match(fieldsOf(postOf('word100 two words100')))).toEqual([]);
  });

  it('does not match a post because of a term of the previous post', () => {
    // All rules are indexed under the term that they share, so that each is compared with every post.
    const index = new RuleIndex(dialectOf('historical'), term => (term === 'common' ? 0.1 : 0.5));
    const rules = Array.from({ length: 100 }, (_, n) =>
      index.add(parseRule(`common term${n}`).tree!),
    );
    const matches = (text: string) => index.match(fieldsOf(postOf(text)));
    for (const [n, rule] of rules.entries()) {
      expect(matches(`common term${n}`)).toEqual([rule]);
      expect(matches('common')).toEqual([]);
    }
  });

  it('does not match the text of a deleted rule after its slot is reused', () => {
    const index = new RuleIndex(dialectOf('historical'), usualFrequency);
    const matches = (text: string) => index.match(fieldsOf(postOf(text)));
    const first = index.add(parseRule('"one-two"').tree!);
    expect(matches('one-two')).toEqual([first]);
    index.delete(first);
    const second = index.add(parseRule('"one+two"').tree!);
    expect(matches('one+two')).toEqual([second]);
    expect(matches('one-two')).toEqual([]);
  });
});
