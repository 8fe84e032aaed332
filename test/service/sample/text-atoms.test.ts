import { expect, test } from 'vitest';
import { getOrMake } from '../../../src/service/cache.js';
import { linkTo, termsOf } from '../../../src/service/sample/partial-posts.js';
import { seedOf } from '../../../src/service/sample/random.js';
import { SampleAuthors } from '../../../src/service/sample/sample-authors.js';
import {
  CASHTAG,
  EMOTION,
  fragmentKey,
  LINK,
  leadKey,
  NAME,
  remarkKey,
  SampleFragments,
  sentenceKey,
  tagKey,
  WORDS,
} from '../../../src/service/sample/sample-fragments.js';
import {
  CASHTAGS,
  COMMON_TAGS,
  EMOJI,
  LANGUAGES,
  LINKS,
} from '../../../src/service/sample/sample-vocabulary.js';
import { TextAtoms } from '../../../src/service/sample/text-atoms.js';

test('TextAtoms finds the same fragments of text as the terms of each fragment', () => {
  const fragments = new SampleFragments(new SampleAuthors(seedOf('millrace')));
  const expected = new Map<string, number[]>();
  for (const key of fragmentKeys()) {
    const { text, entity } = fragments.get(key);
    const terms = termsOf({
      text: text.replaceAll('&amp;', '&'),
      ...(entity?.kind === 'hashtag' ? { hashtags: [entity.text] } : {}),
      ...(entity?.kind === 'symbol' ? { cashtags: [entity.text] } : {}),
      ...(entity?.kind === 'link' ? { links: [linkTo(entity.link.url, entity.link.display)] } : {}),
    });
    for (const term of terms) getOrMake(expected, term, () => []).push(key);
  }
  expect(expected.size).toBeGreaterThan(5_000);
  const atoms = new TextAtoms();
  for (const [i, [term, keys]] of [...expected].entries()) {
    // Thousands of links have a number and a code that no other fragment contains.
    if (keys.length === 1 && i % 20 > 0) continue;
    const found = [...new Set(atoms.with(term))].sort((a, b) => a - b);
    expect(found, term).toEqual(keys.sort((a, b) => a - b));
  }
  expect([...atoms.with('nowhere')]).toEqual([]);
});

/** Yields the keys of all fragments except mentions, but only of some names. */
function* fragmentKeys(): Generator<number> {
  for (const [language, { sentences, remarks, leads }] of LANGUAGES.entries()) {
    for (const sentence of sentences.keys())
      for (let word = 0; word < WORDS; word++)
        for (const tagged of [false, true]) yield sentenceKey(language, sentence, word, tagged);
    for (const remark of remarks.keys()) yield remarkKey(language, remark);
    for (const lead of leads.keys()) yield leadKey(language, lead);
    for (let word = 0; word < WORDS; word++) yield tagKey(language, word);
  }
  for (const tag of COMMON_TAGS.keys()) yield tagKey(0, WORDS + tag);
  for (const emoji of EMOJI.keys()) yield fragmentKey(EMOTION, emoji);
  for (const symbol of CASHTAGS.keys()) yield fragmentKey(CASHTAG, symbol);
  for (let link = 0; link < LINKS; link++) yield fragmentKey(LINK, link);
  for (let name = 0; name < 32_768; name += 331) yield fragmentKey(NAME, name);
}
