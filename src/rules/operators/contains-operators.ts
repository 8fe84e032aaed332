import type { Dialect } from '../post/dialect.js';
import { fold, isFlagEmoji, tokenise } from '../post/tokeniser.js';
import { type RuleOperator, specOf } from './operator.js';

/**
 * The operator `contains:`. It ignores the text of a quoted post, in which the service matches only words and
 * phrases.
 */
export const contains: RuleOperator<string> = {
  ...specOf('text', 'a part of the text, also within words', {}),
  test(value, { accents }) {
    const part = fold(value, accents);
    return ({ texts }) => texts[0]?.folded.includes(part) === true;
  },
  terms: (value, dialect, prefix) => ({
    required: [...wholeWords(value, dialect), ...requiredTrigrams(value, dialect, prefix)],
    exact: false,
  }),
  index: { kind: 'trigrams', of: 'text' },
  frequency: () => 0.02,
};

export const urlContains: RuleOperator<string> = {
  ...specOf('text', 'a part of an expanded link', {}),
  test(value, { accents }) {
    const part = fold(value, accents);
    return ({ addresses }) => addresses.some(({ folded }) => folded.includes(part));
  },
  terms: (value, dialect, prefix) => ({
    required: ['has:links', ...requiredTrigrams(value, dialect, prefix)],
    exact: false,
  }),
  index: { kind: 'trigrams', of: 'links' },
  frequency: () => 0.01,
};

export const TRIGRAM_UNITS = 3;

export function* trigramsOf(folded: string): Generator<string> {
  for (let at = 0; at + TRIGRAM_UNITS <= folded.length; at++)
    yield folded.slice(at, at + TRIGRAM_UNITS);
}

/**
 * Returns the words that every post with this string contains as whole words. A word at the start or end of
 * the string is excluded, because it may be a part of a longer word in a post. Flags are excluded, because
 * the text before the string may change which two letters form a flag.
 */
function wholeWords(text: string, { accents }: Dialect): string[] {
  const { words, starts, folded } = tokenise(text, accents);
  return words.filter((word, i) => {
    const start = starts[i]!;
    return start > 0 && start + word.length < folded.length && !isFlagEmoji(word);
  });
}

function requiredTrigrams(value: string, dialect: Dialect, prefix: string): string[] {
  if (!dialect.allOperators) return [];
  const all = [...trigramsOf(fold(value, dialect.accents))];
  const step = Math.ceil(all.length / MAX_TRIGRAMS);
  return all.filter((_, i) => i % step === 0).map(trigram => prefix + trigram);
}

/**
 * The maximum number of trigrams of a string that are listed as required terms of a post. More trigrams would
 * hardly exclude more posts.
 */
const MAX_TRIGRAMS = 8;
