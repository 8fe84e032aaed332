import { expect, test } from 'vitest';
import { getOrMake } from '../../../src/service/cache.js';
import { AuthorAtoms } from '../../../src/service/sample/author-atoms.js';
import { wordsIn } from '../../../src/service/sample/partial-posts.js';
import { seedOf } from '../../../src/service/sample/random.js';
import { pageDisplay, pageStart } from '../../../src/service/sample/render-parts.js';
import { MENTIONS, QUOTES } from '../../../src/service/sample/sample-atoms.js';
import { AUTHORS, SampleAuthors } from '../../../src/service/sample/sample-authors.js';

test('AuthorAtoms finds authors by each word of a handle or of a displayed link', () => {
  const authors = new SampleAuthors(seedOf('millrace'));
  const atoms = new AuthorAtoms(authors);
  const mentions = new Map<string, Set<number>>();
  const quotes = new Map<string, Set<number>>();
  for (let i = 0; i < AUTHORS; i++) {
    const handle = authors.handleOf(i);
    for (const word of wordsIn(handle))
      getOrMake(mentions, word, () => new Set()).add(MENTIONS + i);
    for (const word of wordsIn(`${handle} ${pageDisplay(pageStart(handle))}`))
      getOrMake(quotes, word, () => new Set()).add(QUOTES + i);
  }
  // All quotes have these words because of the address of the link.
  for (const word of ['twitter', 'com', 'status'])
    quotes.set(word, new Set(Array.from({ length: AUTHORS }, (_, i) => QUOTES + i)));
  for (const [i, [word, found]] of [...quotes].entries()) {
    // Nearly all words belong to one author each.
    if (found.size === 1 && i % 200 > 0) continue;
    const expected = [...(mentions.get(word) ?? []), ...found].sort((a, b) => a - b);
    const all = [...new Set(atoms.with(word))].sort((a, b) => a - b);
    expect(all, word).toEqual(expected);
  }
});
