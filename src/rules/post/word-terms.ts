import { isSingle } from './tokeniser.js';

/**
 * The terms under which words are indexed: each word, and each pair of adjacent characters of a script
 * without spaces. Posts with both characters of `東京` are common, posts with the pair are not.
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
