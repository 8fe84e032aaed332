import type { AuthorFields } from '../../post/post-fields.js';
import type { Dialect } from '../post/dialect.js';
import { holdsPhrase, phraseOf, wordTerms } from '../post/phrase.js';
import type { ReadTexts } from '../post/rule-post.js';
import { fold, HASH_START, hashText } from '../post/tokeniser.js';
import type { CountRange } from '../tree.js';
import {
  exactTerm,
  NO_TERMS,
  type ReadKeys,
  type RuleOperator,
  type RuleOperatorOptions,
  specOf,
  type ValueKind,
} from './operator.js';

interface FieldOptions extends RuleOperatorOptions {
  readonly texts: ReadTexts;
  readonly frequency?: (word: number) => number;
}

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

interface KeyOptions extends RuleOperatorOptions {
  /** Reads the values of a post, converted so that they can be compared. */
  readonly keys: ReadKeys;
  /**
   * Converts the value in a rule in the same way as `keys` converts the values of a post.
   * @default the value itself
   */
  readonly keyOf?: (value: string, dialect: Dialect) => string;
  /** A guess of the fraction of posts that match a rule with one value, from 0 to 1. */
  readonly frequency: number;
}

export function keyOperator(
  value: ValueKind,
  about: string,
  { keys, keyOf = key => key, frequency, ...options }: KeyOptions,
): RuleOperator<string> {
  return {
    ...specOf(value, about, options),
    test(text, dialect) {
      const key = keyOf(text, dialect);
      return ({ fields }) => keys(fields, dialect).includes(key);
    },
    terms: (text, dialect, prefix) => exactTerm(prefix + keyOf(text, dialect)),
    index: { kind: 'keys', keys },
    frequency: () => frequency,
  };
}

export function lowerCase(value: string): string {
  return value.toLowerCase();
}

export function upperCase(value: string): string {
  return value.toUpperCase();
}

/**
 * Converts a language code so that equal languages have equal codes. Posts and rules may contain Hebrew and
 * Indonesian by their current codes or by the codes used before 1989.
 */
export function languageKey(code: string): string {
  const lower = code.toLowerCase();
  return lower === 'he' ? 'iw' : lower === 'id' ? 'in' : lower;
}

/**
 * Converts the name or link of an application so that equal applications are equal strings. The protocol and
 * the last slash of a link are removed.
 */
export function sourceKey(source: string, { accents }: Dialect): string {
  return fold(source, accents)
    .trim()
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
}

export function countOperator(
  about: string,
  count: (author: AuthorFields) => number | undefined,
  aliases: readonly string[] = [],
): RuleOperator<CountRange> {
  return {
    ...specOf('count', about, { aliases }),
    test:
      ({ min, max = Number.POSITIVE_INFINITY }) =>
      ({ fields }) => {
        const found = count(fields.author) ?? 0;
        return found >= min && found <= max;
      },
    terms: () => NO_TERMS,
    frequency: word => word,
  };
}

export const sample: RuleOperator<number> = {
  ...specOf('percent', 'a fraction of all posts, before the rest of the rule', { alone: 'no' }),
  test:
    percent =>
    ({ fields }) =>
      hundredthOf(fields.id) < percent,
  terms: () => NO_TERMS,
  frequency: word => word,
};

/** Returns a number from 0 to 99 that depends only on the post's id. */
function hundredthOf(id: string): number {
  let hash = hashText(HASH_START, id);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % 100;
}
