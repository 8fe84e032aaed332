import { ruleOperators } from '../../rules/operators/operators.js';
import type { Dialect } from '../../rules/post/dialect.js';
import { holdsPhrase, holdsProximity, phraseOf, wordsOf } from '../../rules/post/phrase.js';
import type { Clause, OperatorClause } from '../../rules/tree.js';
import {
  ADDRESS,
  type BlockDetails,
  DISPLAY,
  FIELD,
  indexOf,
  kindOf,
  TEXT,
  type TextKind,
  textOf,
} from './block.js';
import { DocumentSet } from './document-set.js';

/** A phrase or proximity: several words that one text of a post must have, in a certain order. */
export interface WordQuery {
  readonly words: readonly string[];
  /** The prefix of the term of each word. */
  readonly prefix: string;
  /** The kinds of texts that are searched. */
  readonly kinds: readonly TextKind[];
  /** Whether a text matches, given only its tokens that are words of the query. */
  matches(tokens: readonly string[]): boolean;
}

/** The query of a clause for which the order of words matters; `undefined` for other clauses. */
export function wordQuery(clause: Clause, dialect: Dialect): WordQuery | undefined {
  switch (clause.kind) {
    case 'keyword':
      return phraseQuery(wordsOf(clause.text, dialect).words, [TEXT, ADDRESS, DISPLAY]);
    case 'phrase':
      return phraseQuery(phraseOf(clause.text, dialect).words, [TEXT]);
    case 'proximity': {
      const { words } = wordsOf(clause.text, dialect);
      const { distance } = clause;
      return {
        ...phraseQuery(words, [TEXT]),
        matches: tokens => holdsProximity(tokens, words, distance),
      };
    }
    case 'operator':
      return operatorQuery(clause, dialect);
    default:
      return undefined;
  }
}

function operatorQuery(clause: OperatorClause, dialect: Dialect): WordQuery | undefined {
  if (clause.name === 'url') return phraseQuery(wordsOf(clause.value, dialect).words, [ADDRESS]);
  const { index, search } = ruleOperators[clause.name];
  if (index?.kind !== 'words' || !search || typeof clause.value !== 'string') return undefined;
  return phraseQuery(phraseOf(clause.value, dialect).words, [FIELD], `${clause.name}:`);
}

/** The documents among `posts` that have a matching text. */
export function matchWords(
  posts: DocumentSet,
  { words, prefix, kinds, matches }: WordQuery,
  details: BlockDetails,
): DocumentSet {
  const found = new DocumentSet(posts.size);
  const terms = [...new Set(words)].map(word => ({
    word,
    occurrences: details.occurrences(prefix + word),
  }));
  for (const document of posts.members(0, posts.size)) {
    const texts = new Map<number, string[]>();
    for (const { word, occurrences } of terms)
      for (const occurrence of occurrences.in(document)) {
        const number = textOf(occurrence);
        if (!kinds.includes(kindOf(number))) continue;
        let tokens = texts.get(number);
        if (tokens === undefined) {
          tokens = [];
          texts.set(number, tokens);
        }
        tokens[indexOf(occurrence)] = word;
      }
    for (const tokens of texts.values())
      if (matches(tokens)) {
        found.add(document);
        break;
      }
  }
  return found;
}

function phraseQuery(words: readonly string[], kinds: readonly TextKind[], prefix = ''): WordQuery {
  return {
    words,
    prefix,
    kinds,
    matches: tokens =>
      holdsPhrase({ words: tokens, starts: [], folded: '' }, { words, exact: undefined }),
  };
}
