import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planOf, requiredTerms, type TermPlan } from '../../../src/rules/index/required-terms.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { postTerms } from '../../../src/rules/operators/post-terms.js';
import type { RuleProduct } from '../../../src/rules/post/dialect.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import { arbitraryRule } from '../arbitrary-rule.js';
import {
  arbitraryDraft,
  IDS,
  original,
  streams,
  USERS,
  WORDS,
} from '../match/arbitrary-matching-post.js';

const vocabulary = { words: WORDS, users: USERS, ids: IDS };
const products: readonly RuleProduct[] = ['search', 'historical'];

function selects(plan: TermPlan, terms: ReadonlySet<string>): boolean {
  switch (plan.kind) {
    case 'term':
      return terms.has(plan.term);
    case 'all':
      return plan.plans.every(part => selects(part, terms));
    case 'any':
      return plan.plans.some(part => selects(part, terms));
    case 'not':
      return !selects(plan.plan, terms);
  }
}

function termsOf(
  rule: string,
  frequency?: (term: string) => number,
): readonly string[] | undefined {
  return requiredTerms(parseRule(rule).tree!, 'search', frequency);
}

describe('required terms', () => {
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
  ])('of %s', (rule, terms) => {
    expect(termsOf(rule)).toEqual(terms);
  });

  it('of pieces of text are three units in a row, where there are operators for pieces', () => {
    const pieces = (rule: string) => requiredTerms(parseRule(rule).tree!, 'replay');
    expect(pieces('contains:SNOW')).toEqual(['contains:sno']);
    expect(pieces('url_contains:"b.c"')).toEqual(['url_contains:b.c']);
    expect(pieces('contains:no')).toBeUndefined();
  });

  it('are those that a caller knows to be rare', () => {
    const common = new Set(['#winter']);
    expect(termsOf('(snow OR sledge) #winter', term => (common.has(term) ? 0.5 : 0.01))).toEqual([
      'snow',
      'sledge',
    ]);
  });
});

describe('plans', () => {
  it('are readable', () => {
    expect(planOf(parseRule('snow (has:links OR "new york") -is:retweet').tree!, 'search')).toEqual(
      {
        plan: {
          kind: 'all',
          plans: [
            { kind: 'term', term: 'snow' },
            {
              kind: 'any',
              plans: [
                { kind: 'term', term: 'has:links' },
                {
                  kind: 'all',
                  plans: [
                    { kind: 'term', term: 'new' },
                    { kind: 'term', term: 'york' },
                  ],
                },
              ],
            },
            { kind: 'not', plan: { kind: 'term', term: 'is:retweet' } },
          ],
        },
        exact: false,
      },
    );
  });

  it.each(products)('select all matches, and nothing else when they are exact, for %s', product => {
    const seen = { selected: 0, exact: 0, matched: 0 };
    fc.assert(
      fc.property(
        arbitraryRule(vocabulary),
        arbitraryDraft(),
        fc.boolean(),
        (tree, draft, first) => {
          const activity = first ? original(draft) : streams(draft);
          const terms = postTerms(rulePost(activity, product));
          const matched = compileRule(tree, { product })(activity);
          const { plan, exact } = planOf(tree, product);
          const selected = plan === undefined || selects(plan, terms);
          if (matched) expect(selected).toBe(true);
          if (exact) expect(matched).toBe(selected);
          const required = requiredTerms(tree, product);
          expect(required === undefined).toBe(plan === undefined);
          if (matched && required !== undefined)
            expect(required.some(term => terms.has(term))).toBe(true);
          seen.matched += matched ? 1 : 0;
          seen.selected += selected && !matched ? 1 : 0;
          seen.exact += exact ? 1 : 0;
        },
      ),
      { numRuns: 1_000 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(30);
  });
});
