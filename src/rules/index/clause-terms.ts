import type { Clause, OperatorClause } from '../language/tree.js';
import type { Dialect } from '../match/dialect.js';
import { phraseOf, wordsOf } from '../match/phrase.js';
import { fold, isFlag, tokenise } from '../match/tokeniser.js';
import {
  type FieldOperator,
  indexedFields,
  indexesPieces,
  type PieceOperator,
  piecesOf,
  sourceKey,
  termsOfWords,
} from './post-terms.js';

/** What a clause says about the terms of the posts that match it. */
export interface ClauseTerms {
  /** Each of them is among the terms of every match. May be empty: then nothing is known. */
  readonly required: readonly string[];
  /** Whether having them all is also enough. */
  readonly exact: boolean;
}

export function clauseTerms(clause: Clause, dialect: Dialect): ClauseTerms {
  switch (clause.kind) {
    case 'keyword': {
      const { words } = wordsOf(clause.text, dialect);
      // The emoji `#️⃣` looks like the term of a hashtag.
      const exact = words.length === 1 && words[0]?.startsWith('#') === false;
      return { required: [...termsOfWords(words)], exact };
    }
    case 'phrase':
      return { required: [...termsOfWords(phraseOf(clause.text, dialect).words)], exact: false };
    case 'proximity':
      // Not its neighbours: other words may stand between them.
      return { required: wordsOf(clause.text, dialect).words, exact: false };
    case 'hashtag':
      return only(`#${fold(clause.text, dialect.accents)}`);
    case 'cashtag':
      return only(`$${fold(clause.text, dialect.accents)}`);
    case 'mention':
      return only(`@${clause.text.toLowerCase()}`);
    case 'operator':
      return operatorTerms(clause, dialect);
  }
}

function operatorTerms(clause: OperatorClause, dialect: Dialect): ClauseTerms {
  switch (clause.name) {
    case 'from':
    case 'to':
    case 'retweets_of':
    case 'lang':
      return only(`${clause.name}:${clause.value.toLowerCase()}`);
    case 'place_country':
    case 'profile_country':
      return only(`${clause.name}:${clause.value.toUpperCase()}`);
    case 'retweets_of_status_id':
    case 'in_reply_to_status_id':
    case 'is':
    case 'has':
      return only(`${clause.name}:${clause.value}`);
    case 'source':
      return only(`source:${sourceKey(clause.value, dialect)}`);
    case 'url':
      return { required: [...termsOfWords(wordsOf(clause.value, dialect).words)], exact: false };
    case 'url_contains':
      return { required: ['has:links', ...pieces(clause, dialect)], exact: false };
    case 'point_radius':
    case 'bounding_box':
      return { required: ['has:geo'], exact: false };
    case 'profile_point_radius':
    case 'profile_bounding_box':
      return { required: ['has:profile_geo'], exact: false };
    case 'bio':
    case 'bio_name':
    case 'bio_location':
    case 'place':
    case 'profile_region':
    case 'profile_locality':
    case 'profile_subregion':
    case 'url_title':
    case 'url_description':
      return fieldTerms(clause.name, clause.value, dialect);
    case 'contains':
      return {
        required: [...wholeWords(clause.value, dialect), ...pieces(clause, dialect)],
        exact: false,
      };
    case 'statuses_count':
    case 'followers_count':
    case 'friends_count':
    case 'listed_count':
    case 'sample':
      return { required: [], exact: false };
  }
}

function only(term: string): ClauseTerms {
  return { required: [term], exact: true };
}

function fieldTerms(operator: FieldOperator, value: string, dialect: Dialect): ClauseTerms {
  if (!indexedFields(dialect).includes(operator)) return { required: [], exact: false };
  const { words, exact } = phraseOf(value, dialect);
  return {
    required: [...termsOfWords(words)].map(term => `${operator}:${term}`),
    exact: words.length === 1 && (exact === undefined || exact.text === words[0]),
  };
}

/**
 * The words of a text that are whole words wherever the text stands: those that neither begin nor end
 * it. Flags are left out: in a row of them, what comes before decides which two letters are one.
 */
function wholeWords(text: string, { accents }: Dialect): string[] {
  const { words, starts, folded } = tokenise(text, accents);
  return words.filter((word, i) => {
    const start = starts[i] as number;
    return start > 0 && start + word.length < folded.length && !isFlag(word);
  });
}

/** Some pieces of a text that is looked for wherever it stands. */
function pieces(
  { name, value }: { readonly name: PieceOperator; readonly value: string },
  dialect: Dialect,
): string[] {
  if (!indexesPieces(dialect)) return [];
  const all = [...piecesOf(fold(value, dialect.accents))];
  const step = Math.ceil(all.length / MAX_PIECES);
  return all.filter((_, i) => i % step === 0).map(piece => `${name}:${piece}`);
}

/** Pieces of a long text that are asked for; more would hardly be rarer. */
const MAX_PIECES = 8;
