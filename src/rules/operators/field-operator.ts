import { holdsPhrase, phraseOf } from '../post/phrase.js';
import type { ReadTexts } from '../post/rule-post.js';
import { wordTerms } from '../post/word-terms.js';
import { NO_TERMS, type OperatorOptions, type RuleOperator, specOf } from './operator.js';

interface FieldOptions extends OperatorOptions {
  readonly texts: ReadTexts;
  readonly frequency?: (word: number) => number;
}

/** An operator that looks for a word or a phrase in one field of a post. */
export function fieldOperator(
  about: string,
  { texts, frequency = word => word, ...options }: FieldOptions,
): RuleOperator<string> {
  const spec = specOf('text', about, options);
  return {
    ...spec,
    test(value, dialect) {
      const phrase = phraseOf(value, dialect);
      return post => post.field(texts).some(tokens => holdsPhrase(tokens, phrase));
    },
    terms(value, dialect, prefix) {
      if (!spec.search && !dialect.allOperators) return NO_TERMS;
      const { words, exact } = phraseOf(value, dialect);
      return {
        required: [...wordTerms(words)].map(term => prefix + term),
        exact: words.length === 1 && (exact === undefined || exact.text === words[0]),
      };
    },
    index: { kind: 'words', texts },
    frequency,
  };
}
