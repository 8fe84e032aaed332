import { isSingle } from './tokeniser.js';

/**
 * The terms that words are indexed under: each word, and each two neighbours of a script written
 * without spaces. A post with both characters of `東京` is common, one with the pair is not.
 */
export function* wordTerms(words: readonly string[]): Generator<string> {
  let before = '';
  for (const word of words) {
    yield word;
    const single = isSingle(word);
    if (single && before !== '') yield before + word;
    before = single ? word : '';
  }
}
