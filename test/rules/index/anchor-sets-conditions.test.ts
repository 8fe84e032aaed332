import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  anchorSets,
  conditionOf,
  rarestSet,
  type TermCondition,
} from '../../../src/rules/index/anchor-sets.js';
import { usualFrequency } from '../../../src/rules/index/term-frequency.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { postTerms } from '../../../src/rules/operators/post-terms.js';
import { dialectOf, type RuleProduct } from '../../../src/rules/post/dialect.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule } from '../arbitrary-rule.js';
import { arbitraryActivity, PRODUCTS, VOCABULARY } from '../match/arbitrary-matching-post.js';

function selects(condition: TermCondition, terms: ReadonlySet<string>): boolean {
  switch (condition.kind) {
    case 'term':
      return terms.has(condition.term);
    case 'all':
      return condition.conditions.every(part => selects(part, terms));
    case 'any':
      return condition.conditions.some(part => selects(part, terms));
  }
}

/**
 * Returns the rarest set of terms with this property: every matching post contains at least one of
 * the terms.
 */
function requiredTerms(
  rule: string,
  product: RuleProduct,
  frequency = usualFrequency,
): readonly string[] | undefined {
  const condition = conditionOf(parseRule(rule).tree!, dialectOf(product));
  return condition && rarestSet(anchorSets(condition, frequency), frequency);
}

describe('the terms by which a rule is indexed', () => {
  it.each([
    ['snow', ['snow']],
    ['the snow', ['snow']],
    ['snow OR sledge', ['snow', 'sledge']],
    ['(snow OR sledge) #winter', ['#winter']],
    ['snow -rain', ['snow']],
    ['"the blizzard"', ['blizzard']],
    ['"the blizzard"~3', ['blizzard']],
    ['東京', ['東京']],
    ['has:links (bounding_box:[-105 40 -104.9 40.1] OR from:karl)', ['has:geo', 'from:karl']],
    ['url_contains:snow', ['has:links']],
    ['contains:"a blizzard b"', ['blizzard']],
    ['snow OR -rain', undefined],
    ['contains:snow', undefined],
    ['followers_count:10', undefined],
    ['-snow', undefined],
  ])('are found for the rule %s', (rule, terms) => {
    expect(requiredTerms(rule, 'search')).toEqual(terms);
  });

  it('are trigrams if the rule searches for a fragment of text and the product supports this', () => {
    const terms = (rule: string) => requiredTerms(rule, 'replay');
    expect(terms('contains:SNOW')).toEqual(['contains:sno']);
    expect(terms('url_contains:"b.c"')).toEqual(['url_contains:b.c']);
    expect(terms('contains:no')).toBeUndefined();
  });

  it('are the rarest terms according to the frequencies that the caller passes', () => {
    const common = new Set(['#winter']);
    expect(
      requiredTerms('(snow OR sledge) #winter', 'search', term => (common.has(term) ? 0.5 : 0.01)),
    ).toEqual(['snow', 'sledge']);
  });
});

describe('the index condition of a rule', () => {
  it('is a tree of terms and their combinations', () => {
    expect(
      conditionOf(
        parseRule('snow (has:links OR "new york") -is:retweet').tree!,
        dialectOf('search'),
      ),
    ).toEqual({
      kind: 'all',
      conditions: [
        { kind: 'term', term: 'snow' },
        {
          kind: 'any',
          conditions: [
            { kind: 'term', term: 'has:links' },
            {
              kind: 'all',
              conditions: [
                { kind: 'term', term: 'new' },
                { kind: 'term', term: 'york' },
              ],
            },
          ],
        },
      ],
    });
  });

  it.each(PRODUCTS)('selects all matching posts, for %s', product => {
    const seen = { selected: 0, matched: 0 };
    fc.assert(
      fc.property(arbitraryRule(VOCABULARY), arbitraryActivity(), (tree, activity) => {
        const terms = postTerms(rulePost(activity, product));
        const matched = compileRule(tree, { product })(activity);
        const condition = conditionOf(tree, dialectOf(product));
        const selected = condition === undefined || selects(condition, terms);
        if (matched) expect(selected).toBe(true);
        const sets = condition === undefined ? [] : anchorSets(condition, usualFrequency);
        expect(sets.length > 0).toBe(condition !== undefined);
        if (matched) for (const set of sets) expect(set.some(term => terms.has(term))).toBe(true);
        seen.matched += matched ? 1 : 0;
        seen.selected += selected && !matched ? 1 : 0;
      }),
      { numRuns: bySuite(250, 1_000) },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(bySuite(8, 30));
  });
});
