import type { PostTest } from '../operators/operator.js';
import type { Phrase } from '../post/phrase.js';
import type { Lexicon } from './lexicon.js';
import { APART, ONE_BLANK, type PostScan, TOUCHING } from './post-scan.js';

/**
 * Tests whether words are adjacent, by the term numbers of a scanned post. The words must be in
 * the lexicon. If an exact phrase has more than single spaces between its words, and the words are
 * adjacent, `reference` compares the text itself.
 */
export function sequenceTest(
  { words, exact }: Phrase,
  lexicon: Lexicon,
  reference: PostTest,
  where: 'texts only' | 'texts and links',
): (post: PostScan) => boolean {
  if (words.length === 0) return post => reference(post.post);
  const numbers = words.map(word => lexicon.numberOf(word));
  const gaps = exact === undefined ? undefined : gapsOf(words, exact);
  const byText = exact !== undefined && gaps === undefined;
  const [first] = numbers;
  return post => {
    const { sequence, gaps: found } = post;
    const end = (where === 'texts only' ? post.textsEnd : post.sequenceEnd) - numbers.length;
    for (let at = 0; at <= end; at++) {
      if (sequence[at] !== first) continue;
      let i = 1;
      while (
        i < numbers.length &&
        sequence[at + i] === numbers[i] &&
        (gaps === undefined || found[at + i] === gaps[i])
      )
        i++;
      if (i < numbers.length) continue;
      return byText ? reference(post.post) : true;
    }
    return false;
  };
}

/**
 * The distance of each word from the one before, or `undefined` if punctuation is part of the phrase.
 */
function gapsOf(
  words: readonly string[],
  { text, lead }: { readonly text: string; readonly lead: number },
): readonly number[] | undefined {
  if (lead !== 0) return undefined;
  let end = (words[0] as string).length;
  const gaps = [APART];
  for (const word of words.slice(1)) {
    const touching = text.startsWith(word, end);
    if (!touching && !text.startsWith(` ${word}`, end)) return undefined;
    gaps.push(touching ? TOUCHING : ONE_BLANK);
    end += word.length + (touching ? 0 : 1);
  }
  return end === text.length ? gaps : undefined;
}
