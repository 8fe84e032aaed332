import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Activity } from '../../src/post/activity.js';
import { checkRule } from '../../src/rules/language/check-rule.js';
import { compileRule } from '../../src/rules/match/compile-rule.js';
import { packRules } from '../../src/rules/pack-rules.js';
import type { RuleNode } from '../../src/rules/tree.js';
import { samplePosts } from '../../src/service/index.js';
import { bySuite } from '../suite.js';
import { acceptedRule } from './arbitrary-rule.js';

const queriesOf = (values: readonly string[], options = {}) =>
  packRules(
    values.map(value => ({ value })),
    options,
  ).map(({ query }) => query);

function testOf(query: string) {
  const { tree, problems } = checkRule(query, { product: 'search' });
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return compileRule(tree as RuleNode, { product: 'search' });
}

const WORDS = ['coffee', 'rain', 'good', 'day', 'new', 'the', 'music', 'OR', 'and'];
const posts = samplePosts(Date.UTC(2022, 9, 3, 12), { postsPerMinute: 150 }).map(
  ({ raw }) => new Activity(Buffer.from(raw)),
);

describe('rules packed into queries', () => {
  it('are joined by OR, longest first, with parentheses around several clauses', () => {
    expect(queriesOf(['rain', 'snow lang:en', 'a1 OR b1', 'x1 -y1'])).toEqual([
      '(snow lang:en) OR (a1 OR b1) OR (x1 -y1) OR rain',
    ]);
  });

  it('are unchanged, except for outer white space, if there is only one rule', () => {
    expect(queriesOf([' a1  OR b1 '])).toEqual(['a1  OR b1']);
    expect(packRules([])).toEqual([]);
  });

  it('appear once per rule text, together with all rules that have this text', () => {
    const given = [
      { value: 'rain', tag: 'a' },
      { value: 'rain ', tag: 'b' },
      { value: 'snow', tag: 'c' },
    ];
    const [packed, ...more] = packRules(given);
    expect(more).toEqual([]);
    expect(packed).toEqual({ query: 'rain OR snow', rules: given });
  });

  it('fill a query up to its last character', () => {
    // An emoji counts as one character but has two UTF-16 units. ` OR ` adds four characters.
    const emoji = (n: number) => String.fromCodePoint(0x1f300 + n);
    const values = Array.from({ length: 410 }, (_, n) => emoji(n));
    const [query = '', ...more] = queriesOf(values, { characters: 410 + 409 * 4 });
    expect([...query].length).toBe(410 + 409 * 4);
    expect(more).toEqual([]);
    expect(queriesOf(values, { characters: 410 + 409 * 4 - 1 }).length).toBe(2);
    expect(queriesOf(['abc', 'de'], { characters: 9 })).toEqual(['abc OR de']);
    expect(queriesOf(['abc', 'de'], { characters: 8 })).toEqual(['abc', 'de']);
    expect(queriesOf(['abc d', 'de'], { characters: 13 })).toEqual(['(abc d) OR de']);
    expect(queriesOf(['abc d', 'de'], { characters: 12 })).toEqual(['abc d', 'de']);
    expect(queriesOf(['abc d', 'e f'], { characters: 16 })).toEqual(['(abc d) OR (e f)']);
    expect(queriesOf(['abc d', 'e f'], { characters: 15 })).toEqual(['abc d', 'e f']);
  });

  it('are separate queries at the maximum length, and cause an error beyond that length', () => {
    expect(queriesOf(['abc d', 'rain'], { characters: 5 })).toEqual(['abc d', 'rain']);
    expect(() => queriesOf(['abc de'], { characters: 5 })).toThrow(OptionError);
    expect(() => queriesOf(['abc de'], { characters: 5 })).toThrow(
      /has one of 6 characters, and a query may have 5: abc de/,
    );
    expect(queriesOf(['x'.repeat(2048), 'rain']).length).toBe(2);
  });

  it('stay within the limits of a query for phrases and clauses', () => {
    const phrases = ['"a b"', '"c d"~2', '"e f"', 'rain'];
    expect(queriesOf(phrases, { phrases: 2 })).toEqual(['"c d"~2 OR "a b" OR rain', '"e f"']);
    const clauses = ['a1 -(b1 OR c1)', 'd1 e1', 'f1'];
    expect(queriesOf(clauses, { clauses: 3 })).toEqual(['a1 -(b1 OR c1)', '(d1 e1) OR f1']);
    expect(queriesOf(clauses, { clauses: 2 })).toEqual(['a1 -(b1 OR c1)', 'd1 e1', 'f1']);
    const many = Array.from({ length: 201 }, (_, n) => `"a${n}"`);
    expect(queriesOf(many).length).toBe(3);
  });

  it('are not joined by OR if the service would reject one of them within an OR', () => {
    expect(queriesOf(['rain -is:nullcast', 'snow', 'ice'])).toEqual([
      'rain -is:nullcast',
      'snow OR ice',
    ]);
  });

  it('cause one error that names every invalid rule', () => {
    expect(() => queriesOf(['rain', '-snow', 'lang:en'])).toThrow(OptionError);
    expect(() => queriesOf(['rain', '-snow', 'lang:en'])).toThrow(
      /^2 of 3 rules[\s\S]*"-snow"[\s\S]*"lang:en"/,
    );
  });

  it('match exactly the same posts as the separate rules', () => {
    const rule = acceptedRule('search', { words: WORDS, users: ['karl', '17'] });
    const limits = fc.record({
      characters: fc.constantFrom(undefined, 300),
      phrases: fc.constantFrom(undefined, 2, 5),
      clauses: fc.constantFrom(undefined, 3, 12),
    });
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 8 }), limits, (given, options) => {
        const values = given
          .map(({ text }) => text)
          .filter(text => [...text].length <= (options.characters ?? 2048));
        const packed = packRules(
          values.map(value => ({ value })),
          options,
        );
        expect(packed.flatMap(({ rules }) => rules.map(({ value }) => value)).toSorted()).toEqual(
          values.toSorted(),
        );
        for (const { query, rules } of packed) {
          expect([...query].length).toBeLessThanOrEqual(options.characters ?? 2048);
          const matches = testOf(query);
          const each = rules.map(({ value }) => testOf(value));
          for (const post of posts)
            expect(matches(post)).toBe(each.some(matchesOne => matchesOne(post)));
        }
      }),
      { numRuns: bySuite(15, 1_000) },
    );
  });
});
