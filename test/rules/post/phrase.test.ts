import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dialectOf } from '../../../src/rules/post/dialect.js';
import { holdsPhrase, holdsProximity, phraseOf } from '../../../src/rules/post/phrase.js';
import { tokenise } from '../../../src/rules/post/tokeniser.js';
import { bySuite } from '../../suite.js';

const word = fc.constantFrom('a', 'b', 'c');

function* placements(tokens: readonly string[], words: readonly string[]): Generator<number[]> {
  const [first, ...rest] = words;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const places of placements(tokens, rest))
    for (let at = 0; at < tokens.length; at++)
      if (tokens[at] === first && !places.includes(at)) yield [at, ...places];
}

describe('a proximity operator', () => {
  it('matches if any assignment of its words to the post is close enough', () => {
    let found = 0;
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 7 }),
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 6 }),
        (tokens, words, distance) => {
          const near = [...placements(tokens, words)].some(places => {
            const shifts = places.map((place, i) => place - i);
            return Math.max(...shifts) - Math.min(...shifts) <= distance;
          });
          found += near ? 1 : 0;
          expect(holdsProximity(tokens, words, distance)).toBe(near);
        },
      ),
      { numRuns: bySuite(750, 3_000) },
    );
    expect(found).toBeGreaterThan(300);
  });
});

describe('a phrase search in a hostile string', () => {
  it('takes linear time', () => {
    const tokens = Array.from({ length: 5_000 }, () => 'a');
    const words = [...Array.from({ length: 999 }, () => 'a'), 'b'];
    expect(holdsProximity(tokens, words, 6)).toBe(false);
    const post = tokenise(tokens.join(' '), 'kept');
    expect(holdsPhrase(post, phraseOf(words.join(' '), dialectOf('replay')))).toBe(false);
  });
});

describe('a quoted phrase in a rule', () => {
  const separator = fc.constantFrom(' ', '-', ', ', '  ', '.');
  const text = fc
    .array(fc.tuple(word, separator), { maxLength: 8 })
    .map(parts => parts.flat().join(''));

  it('matches in PowerTrack if its text occurs between word boundaries', () => {
    const dialect = dialectOf('replay');
    fc.assert(
      fc.property(text, text, (post, phrase) => {
        fc.pre(/[abc]/.test(phrase));
        const expected = phrase.replace(/\s+/g, ' ').trim();
        // Any character may stand before or after punctuation.
        const before = /^\w/.test(expected) ? '(?<!\\w)' : '';
        const after = /\w$/.test(expected) ? '(?!\\w)' : '';
        const pattern = new RegExp(before + expected.replace(/[.]/g, '\\.') + after);
        const exact = pattern.test(post.replace(/\s+/g, ' '));
        expect(holdsPhrase(tokenise(post, 'kept'), phraseOf(phrase, dialect))).toBe(exact);
      }),
      { numRuns: bySuite(250, 12_000) },
    );
  });

  it('matches in search if its words are adjacent in the post', () => {
    const dialect = dialectOf('search');
    fc.assert(
      fc.property(text, text, (post, phrase) => {
        fc.pre(/[abc]/.test(phrase));
        const words = (from: string) => ` ${from.match(/\w+/g)?.join(' ') ?? ''} `;
        expect(holdsPhrase(tokenise(post, 'stripped'), phraseOf(phrase, dialect))).toBe(
          words(post).includes(words(phrase)),
        );
      }),
      { numRuns: bySuite(250, 12_000) },
    );
  });
});
