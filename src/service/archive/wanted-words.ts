import { ruleOperators } from '../../rules/operators/operators.js';
import type { Dialect } from '../../rules/post/dialect.js';
import { holdsPhrase, holdsProximity, phraseOf, wordsOf } from '../../rules/post/phrase.js';
import type { Clause, OperatorClause } from '../../rules/tree.js';
import type { BlockDetails } from './block.js';
import { ADDRESS, DISPLAY, FIELD, kindOf, listOf, placeOf, TEXT } from './occurrences.js';
import { Ordinals } from './ordinals.js';

/** Words that a clause wants in one of a post's lists of words, in some order. */
export interface WantedWords {
  readonly words: readonly string[];
  /** Before each word in its term. */
  readonly prefix: string;
  /** Kinds of lists that count. */
  readonly kinds: readonly number[];
  /** Whether a list with these words at their places, and nothing else, has what is wanted. */
  holds(list: readonly string[]): boolean;
}

/** The words that a clause of search wants, where it wants several; `undefined` for other clauses. */
export function wantedWords(clause: Clause, dialect: Dialect): WantedWords | undefined {
  switch (clause.kind) {
    case 'keyword':
      return phrase(wordsOf(clause.text, dialect).words, [TEXT, ADDRESS, DISPLAY]);
    case 'phrase':
      return phrase(phraseOf(clause.text, dialect).words, [TEXT]);
    case 'proximity': {
      const { words } = wordsOf(clause.text, dialect);
      const { distance } = clause;
      return { ...phrase(words, [TEXT]), holds: list => holdsProximity(list, words, distance) };
    }
    case 'operator':
      return wordsOfOperator(clause, dialect);
    default:
      return undefined;
  }
}

function wordsOfOperator(clause: OperatorClause, dialect: Dialect): WantedWords | undefined {
  if (clause.name === 'url') return phrase(wordsOf(clause.value, dialect).words, [ADDRESS]);
  const { index, search } = ruleOperators[clause.name];
  if (index?.kind !== 'words' || !search || typeof clause.value !== 'string') return undefined;
  return phrase(phraseOf(clause.value, dialect).words, [FIELD], `${clause.name}:`);
}

/** Those of some posts that have the words as they are wanted. */
export function holdingWords(
  posts: Ordinals,
  { words, prefix, kinds, holds }: WantedWords,
  details: BlockDetails,
): Ordinals {
  const found = new Ordinals(posts.size);
  const sought = [...new Set(words)].map(word => ({
    word,
    occurrences: details.occurrences(prefix + word),
  }));
  for (const ordinal of posts.members(0, posts.size)) {
    const lists = new Map<number, string[]>();
    for (const { word, occurrences } of sought)
      for (const occurrence of occurrences.in(ordinal)) {
        const number = listOf(occurrence);
        if (!kinds.includes(kindOf(number))) continue;
        let list = lists.get(number);
        if (list === undefined) {
          list = [];
          lists.set(number, list);
        }
        list[placeOf(occurrence)] = word;
      }
    for (const list of lists.values())
      if (holds(list)) {
        found.add(ordinal);
        break;
      }
  }
  return found;
}

function phrase(words: readonly string[], kinds: readonly number[], prefix = ''): WantedWords {
  return {
    words,
    prefix,
    kinds,
    holds: list =>
      holdsPhrase({ words: list, starts: [], folded: '' }, { words, exact: undefined }),
  };
}
