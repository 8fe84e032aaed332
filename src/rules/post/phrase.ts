import type { TextClause } from '../tree.js';
import type { Dialect } from './dialect.js';
import { isSingle, type Tokens, tokenise } from './tokeniser.js';

export interface Phrase {
  readonly words: readonly string[];
  /**
   * The folded text that a post must contain, and the offset of the first word in this text. `undefined` if
   * only the words must match.
   */
  readonly exact: { readonly text: string; readonly lead: number } | undefined;
}

/**
 * Reads a quoted phrase. In jobs and replay, the post must also contain the punctuation of the phrase. In
 * search, punctuation counts as white space. All products collapse white space.
 */
export function phraseOf(text: string, { accents, exactPhrases }: Dialect): Phrase {
  const { words, starts, folded } = tokenise(text, accents);
  const trimmed = folded.trimStart();
  const lead = (starts[0] ?? 0) - (folded.length - trimmed.length);
  return { words, exact: exactPhrases ? { text: trimmed.trimEnd(), lead } : undefined };
}

/** Reads a string as a phrase of adjacent words. Ignores punctuation. */
export function wordsOf(text: string, { accents }: Dialect): Phrase {
  return { words: tokenise(text, accents).words, exact: undefined };
}

/**
 * Returns the phrase that a keyword or phrase clause looks for. A keyword without words, such as `™`, is
 * compared as a quoted phrase.
 */
export function clausePhrase({ kind, text }: TextClause, dialect: Dialect): Phrase {
  const words = wordsOf(text, dialect);
  return kind === 'keyword' && words.words.length > 0 ? words : phraseOf(text, dialect);
}

/**
 * Returns whether tokens contain a phrase. A phrase without words consists of punctuation. The folded text
 * must then contain it exactly.
 */
export function holdsPhrase(tokens: Tokens, { words, exact }: Phrase): boolean {
  const [first] = words;
  if (first === undefined)
    return exact !== undefined && exact.text !== '' && tokens.folded.includes(exact.text);
  for (let at = tokens.words.indexOf(first); at !== -1; at = tokens.words.indexOf(first, at + 1)) {
    if (!words.every((word, i) => tokens.words[at + i] === word)) continue;
    if (exact === undefined) return true;
    const start = tokens.starts[at]! - exact.lead;
    if (start >= 0 && tokens.folded.startsWith(exact.text, start)) return true;
  }
  return false;
}

/**
 * Returns whether the tokens contain all words near each other. Two words in order may have at most
 * `distance` other tokens between them, and two words in reverse order at most `distance` - 2.
 *
 * Tries each start. Word `i` must be at token `start + i`, or up to `distance` tokens later. The tokens match
 * if all words fit for at least one start.
 */
export function holdsProximity(
  tokens: readonly string[],
  words: readonly string[],
  distance: number,
): boolean {
  if (words.length === 0) return false;
  for (let start = 1 - words.length; start < tokens.length; start++)
    if (fits(tokens, words, start, distance)) return true;
  return false;
}

/**
 * Returns whether each word has its own token near its place. The place of word `i` is `start + i`. The token
 * must be at this place or up to `distance` tokens later.
 */
function fits(
  tokens: readonly string[],
  words: readonly string[],
  start: number,
  distance: number,
): boolean {
  // A word that occurs twice in the phrase needs two different tokens, in order.
  const taken = new Map<string, number>();
  return words.every((word, i) => {
    const from = Math.max(0, start + i, (taken.get(word) ?? -1) + 1);
    for (let at = from; at <= start + i + distance; at++)
      if (tokens[at] === word) {
        taken.set(word, at);
        return true;
      }
    return false;
  });
}

/**
 * Yields the terms under which words are indexed: each word, and each pair of adjacent characters of a script
 * without spaces. A pair is rarer than its characters. For example, many posts have both characters of `東京`,
 * but few have the pair.
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
