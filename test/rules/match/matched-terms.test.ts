import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchedTerms } from '../../../src/rules/match/matched-terms.js';
import type { NewPost } from '../../../src/service/index.js';
import { createService } from '../../../src/service/index.js';
import { bySuite } from '../../suite.js';

function marked(rule: string, post: NewPost, product: 'search' | 'replay' = 'search') {
  const text = post.text ?? '';
  const [activity] = createService().posts.add(post);
  if (activity === undefined) throw new Error('no post');
  const { clauses, spansIn } = matchedTerms(rule, activity, product);
  return { clauses, marks: spansIn(text).map(({ start, end }) => text.slice(start, end)) };
}

describe('the terms marked in a post', () => {
  it.each([
    ['coffee', 'Coffee, cold coffee and coffees', ['Coffee', 'coffee']],
    ['"cold brew"', 'Cold  brew; brew cold', ['Cold  brew']],
    ['cafe', 'Un café', ['café']],
    ['coca-cola', 'I like Coca Cola!', ['Coca Cola']],
    ['"tea milk"~3', 'tea with milk', ['tea', 'milk']],
    ['#Oslo snow', 'Oslo: snow in #oslo', ['#oslo', 'snow']],
    ['@ann', 'ann and @Ann', ['@Ann']],
    ['#हिन्दी', 'read #हिन्दी now', ['#हिन्दी']],
    ['東京', '東京タワー', ['東京']],
    ['🍕', 'pizza 🍕🍕', ['🍕', '🍕']],
  ])('for the rule %s in “%s” are %j', (rule, text, marks) => {
    expect(marked(rule, { text }).marks).toEqual(marks);
  });

  it('belong to the clauses that decided the match, except negated ones', () => {
    const post = { text: 'tea and milk', author: 'ann' };
    expect(marked('(tea OR coffee) from:ann -water', post)).toEqual({
      clauses: ['tea', 'from:ann'],
      marks: ['tea'],
    });
    expect(marked('milk -(tea coffee)', post).marks).toEqual(['milk']);
    expect(marked('milk -(tea -and)', post).marks).toEqual(['milk']);
  });

  it('depend on the product, since only search ignores accents', () => {
    expect(marked('café', { text: 'cafe café' }, 'search').marks).toEqual(['cafe', 'café']);
    expect(marked('café', { text: 'cafe café' }, 'replay').marks).toEqual(['café']);
  });

  it('exist if and only if a clause of the rule matches', () => {
    const word = fc.constantFrom('tea', 'Tea', 'té', '茶', '🍵', 'x', '"', '-', ' ', '\n', '#tea');
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 12 }),
        fc.constantFrom('tea', 'té', '茶', '🍵'),
        (words, rule) => {
          const text = `.${words.join('')}.`;
          let found: ReturnType<typeof marked>;
          try {
            found = marked(rule, { text });
          } catch {
            return; // the change made the document something other than a post
          }
          expect(found.marks.length > 0).toBe(found.clauses.length > 0);
        },
      ),
      { numRuns: bySuite(50, 200) },
    );
  });
});
