import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { Activity } from '../../../src/post/activity.js';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { compileRules, type Rule } from '../../../src/rules/index/compile-rules.js';
import { RuleIndex } from '../../../src/rules/index/rule-index.js';
import { usualFrequency } from '../../../src/rules/index/term-frequency.js';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { dialectOf } from '../../../src/rules/post/dialect.js';
import { bySuite } from '../../suite.js';
import { unchecked } from '../../unchecked.js';
import { acceptedRule, arbitraryRule } from '../arbitrary-rule.js';
import {
  arbitraryDraft,
  original,
  PRODUCTS,
  postOf,
  streams,
  VOCABULARY,
} from '../match/arbitrary-matching-post.js';

describe.each(PRODUCTS)('many rules compiled together for %s', product => {
  it('match the same posts as each rule alone, in both formats', () => {
    let matched = 0;
    fc.assert(
      fc.property(
        fc.array(arbitraryRule(VOCABULARY), { minLength: 1, maxLength: 30 }),
        fc.array(arbitraryDraft(), { minLength: 1, maxLength: 5 }),
        (trees, drafts) => {
          const index = new RuleIndex(dialectOf(product), usualFrequency);
          for (const tree of trees) index.add(tree);
          const alone = trees.map(tree => compileRule(tree, { product }));
          for (const activity of drafts.flatMap(draft => [original(draft), streams(draft)])) {
            const expected = alone.flatMap((matches, i) => (matches(activity) ? [i] : []));
            const found = index.match(fieldsOf(activity)).sort((a, b) => a - b);
            matched += found.length;
            expect(found).toEqual(expected);
          }
        },
      ),
      { numRuns: bySuite(50, 200) },
    );
    // With fewer matches, the property would prove little.
    expect(matched).toBeGreaterThan(500);
  });

  it('match the correct posts while rules are added and deleted and terms change their frequency', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), rule: acceptedRule(product, VOCABULARY) }),
      fc.record({ do: fc.constant('delete' as const), which: fc.nat() }),
      fc.record({ do: fc.constant('match' as const), draft: arbitraryDraft() }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (steps, guesses) => {
          const frequency = () => guesses.next().value as number;
          // With this interval of 1 post, the index decides after each post under which term it
          // stores a rule.
          const index = new RuleIndex(dialectOf(product), frequency, 1);
          const model = new Map<number, (activity: Activity) => boolean>();
          for (const step of steps)
            if (step.do === 'add') {
              const rule = index.add(step.rule.tree);
              expect(model.has(rule)).toBe(false);
              model.set(rule, compileRule(step.rule.tree, { product }));
            } else if (step.do === 'delete') {
              const rule = [...model.keys()][step.which % Math.max(1, model.size)];
              if (rule === undefined) continue;
              index.delete(rule);
              model.delete(rule);
            } else {
              const activity = original(step.draft);
              const expected = [...model].flatMap(([rule, matches]) =>
                matches(activity) ? [rule] : [],
              );
              expect(index.match(fieldsOf(activity)).sort()).toEqual(expected.sort());
            }
          for (const rule of model.keys()) index.delete(rule);
          expect(index.terms).toBe(0);
        },
      ),
      { numRuns: bySuite(13, 600) },
    );
  });
});

describe('the matcher of compileRules', () => {
  it('returns matching rules in the order of addition, with a new rule in the place of a deleted rule', () => {
    const matcher = compileRules([
      { value: 'snow', tag: 'weather', id: '9007199254740993' },
      { value: 'deep', id: '2' },
      { value: 'snow deep', tag: 'x' },
    ]);
    matcher.delete([{ id: '2' }]);
    matcher.add([{ value: 'deep', tag: null, id: '3' }]);
    expect(matcher.match(postOf('deep snow'))).toEqual([
      { tag: 'weather', id: '9007199254740993' },
      { tag: null, id: '3' },
      { tag: 'x', id: undefined, value: 'snow deep' },
    ]);
  });

  it('stores equal rules only once', () => {
    const matcher = compileRules([{ value: 'snow' }, { value: 'snow' }]);
    matcher.add([
      { value: 'snow', tag: null },
      { value: 'snow', tag: 'other' },
    ]);
    expect(matcher.size).toBe(2);
    expect(matcher.match(postOf('snow')).map(rule => rule.tag)).toEqual([null, 'other']);
  });

  it('deletes rules by value and tag if they have no id', () => {
    const matcher = compileRules([{ value: 'snow' }, { value: 'snow', tag: 'a' }]);
    expect(matcher.delete([{ value: 'snow', tag: 'b' }, { value: 'snow' }])).toBe(1);
    expect(matcher.match(postOf('snow')).map(rule => rule.tag)).toEqual(['a']);
  });

  it('throws an error with the problems of each invalid rule, and adds no rule of the call', () => {
    const matcher = compileRules([{ value: 'snow' }]);
    const rules: Rule[] = [
      { value: 'rain' },
      { value: '-follow' },
      { value: 'cat has:vidoes' },
      { value: 'a b', tag: 'x'.repeat(256) },
      { value: 'fog', id: 'seven' },
    ];
    expect(() => matcher.add(rules)).toThrow(OptionError);
    expect(() => matcher.add(rules)).toThrow(/^4 of 5 rules cannot be used for historical:/);
    expect(() => matcher.add(rules)).toThrow('"-follow": Rules must contain a non-negation term');
    expect(() => matcher.add(rules)).toThrow('"cat has:vidoes"');
    expect(() => matcher.add(rules)).toThrow('its id is not digits: seven');
    expect(matcher.size).toBe(1);
    expect(matcher.match(postOf('rain'))).toEqual([]);
  });

  it('shows only the first of very many invalid rules', () => {
    const rules = Array.from({ length: 50 }, (_, i) => ({ value: `-x${i}` }));
    expect(() => compileRules(rules)).toThrow(/and 30 more$/);
  });

  it('throws for two rules with the same id', () => {
    expect(() =>
      compileRules([
        { value: 'snow', id: '1' },
        { value: 'rain', id: '1' },
      ]),
    ).toThrow('id 1 is that of another rule');
    const matcher = compileRules([{ value: 'snow', id: '1' }]);
    expect(() => matcher.add([{ value: 'rain', id: '1' }])).toThrow('id 1 is that of another rule');
  });

  it('throws for operators that the product does not have', () => {
    expect(() => compileRules([{ value: 'contains:snow' }], { product: 'search' })).toThrow(
      OptionError,
    );
    expect(compileRules([{ value: 'contains:snow' }], { product: 'replay' }).size).toBe(1);
  });

  it('throws for a rule without a value', () => {
    expect(() => compileRules([{} as Rule])).toThrow('a rule has a `value`');
  });

  it('returns all of 3,000 rules that match one post', () => {
    const rules = Array.from({ length: 3_000 }, (_, i) => ({ value: 'snow', id: String(i) }));
    expect(compileRules(rules).match(postOf('snow'))).toHaveLength(3_000);
  });

  it('matches its first and its last term, for any number of terms', () => {
    for (const terms of [63, 64, 2_047, 2_048, 2_049, 4_096]) {
      const matcher = compileRules(Array.from({ length: terms }, (_, i) => ({ value: `w${i}` })));
      expect(matcher.match(postOf(`w0 w${terms - 1}`)), `${terms} terms`).toHaveLength(2);
    }
  });

  it('accepts more rules than a function call can have arguments', () => {
    const rules = Array.from({ length: 150_000 }, (_, i) => ({ value: `w${i}`, id: String(i) }));
    const matcher = compileRules(rules.slice(0, 5_000));
    matcher.add(rules);
    expect(matcher.size).toBe(150_000);
    expect(matcher.match(postOf('w1 w149999')).map(rule => rule.id)).toEqual(['1', '149999']);
  });
});

describe('an unusual rule in compileRules', () => {
  it('with a phrase matches only if words that touch in the phrase also touch in the post', () => {
    const matcher = compileRules([{ value: '"東京 snow"' }]);
    expect(matcher.match(postOf('東京 snow'))).toHaveLength(1);
    for (const text of ['東 京 snow', '東京snow', '東京, snow', '東 京snow'])
      expect(matcher.match(postOf(text))).toHaveLength(0);
  });

  it('with a phrase matches a long post that quotes a long post', () => {
    const filler = 'word '.repeat(700).trim();
    const quoted = JSON.stringify({ ...JSON.parse(String(postOf(filler).raw)), id_str: '7' });
    const post = String(postOf(`deep snow ${filler}`).raw);
    const quoting = new Activity(Buffer.from(post.replace(/}$/, `,"quoted_status":${quoted}}`)));
    const matcher = compileRules([{ value: '"deep snow"' }]);
    expect(matcher.match(postOf(`deep snow ${filler}`))).toHaveLength(1);
    expect(matcher.match(quoting)).toHaveLength(1);
  });

  it('without a term to index matches posts without that term', () => {
    const matcher = compileRules([{ value: 'contains:no' }, { value: 'followers_count:0' }]);
    expect(matcher.match(postOf('snowing'))).toHaveLength(2);
    expect(checkRule('contains:no', { product: 'historical' }).problems).toEqual([]);
  });
});

it.each([42, undefined, 'cat', [null], ['cat'], [{}]])(
  'compileRules throws an OptionError for %j',
  rules => {
    expect(() => compileRules(unchecked(rules))).toThrow(OptionError);
  },
);

it.each([42, undefined, null, 'cat'])('compileRule throws an OptionError for the tree %j', tree => {
  expect(() => compileRule(unchecked(tree))).toThrow(OptionError);
});
