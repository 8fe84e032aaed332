import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wordsIn } from '../../../src/service/sample/partial-posts.js';
import { WordSearch } from '../../../src/service/sample/word-search.js';

test('WordSearch finds the ASCII strings in which the tokeniser finds a given word', () => {
  const text = fc.string({ unit: fc.constantFrom(...'abA1_-/. …'), maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 8 }),
      fc.constantFrom('a', 'ab', '1', 'aa', 'b1'),
      (strings, word) => {
        const search = new WordSearch(strings.length, i => strings[i] as string);
        const expected = [...strings.keys()].filter(i =>
          wordsIn(strings[i] as string).includes(word),
        );
        expect(search.find(word)).toEqual(expected);
        // The second search uses the strings that the first has joined.
        expect(search.find(word)).toEqual(expected);
      },
    ),
  );
});

test('WordSearch finds nothing for a word with other characters', () => {
  expect(new WordSearch(1, () => 'from:a é').find('from:a')).toEqual([]);
  expect(new WordSearch(1, () => 'from:a é').find('é')).toEqual([]);
  expect(new WordSearch(1, () => 'a').find('')).toEqual([]);
});
