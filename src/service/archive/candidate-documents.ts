import type { Position } from '../../post/post-fields.js';
import { clauseTerms } from '../../rules/match/clause-terms.js';
import { isPositionIn } from '../../rules/operators/area-operator.js';
import type { RequiredTerms, RuleOperator } from '../../rules/operators/operator.js';
import { ruleOperators } from '../../rules/operators/operators.js';
import { type Dialect, dialectOf } from '../../rules/post/dialect.js';
import {
  clausePhrase,
  holdsPhrase,
  holdsProximity,
  phraseOf,
  wordsOf,
} from '../../rules/post/phrase.js';
import type { And, Clause, OperatorClause, Or, RuleNode } from '../../rules/tree.js';
import { getOrMake } from '../cache.js';
import {
  ADDRESS,
  type Block,
  type BlockDetails,
  DISPLAY,
  DocumentSet,
  FIELD,
  TEXT,
  type TextKind,
  textKindOf,
  textNumberOf,
  wordIndexOf,
} from './block.js';

export interface CandidateDocuments {
  readonly documents: DocumentSet;
  /** Whether all `documents` match the rule. Otherwise, the rule must be tested against each post. */
  readonly exact: boolean;
}

const SEARCH = dialectOf('search');

/**
 * Finds the documents of a block that may match a rule. Each clause of the rule requires terms, which the
 * index looks up. The result is exact if terms, positions of words and locations of posts decide which
 * documents match.
 */
export function candidateDocuments(node: RuleNode, block: Block): CandidateDocuments {
  switch (node.kind) {
    case 'and':
    case 'or':
      return joined(node, block);
    case 'not': {
      const { documents, exact } = candidateDocuments(node.node, block);
      // If the candidates are not exact, some of them may not match the negated rule, and so match the `not`.
      // No document can then be excluded.
      if (!exact) return { documents: DocumentSet.all(block.count), exact: false };
      documents.invert();
      return { documents, exact: true };
    }
    default:
      return clauseDocuments(node, block);
  }
}

function joined(node: And | Or, block: Block): CandidateDocuments {
  let exact = true;
  let all: DocumentSet | undefined;
  for (const child of node.nodes) {
    const next = candidateDocuments(child, block);
    exact &&= next.exact;
    if (all === undefined) all = next.documents;
    else if (node.kind === 'and') all.intersect(next.documents);
    else all.unite(next.documents);
    // Once no document is left for an `and`, its other clauses cannot add any.
    if (node.kind === 'and' && all.isEmpty) return { documents: all, exact: true };
  }
  if (all !== undefined) return { documents: all, exact };
  // `node.nodes` is empty. An `or` without nodes matches no post. For an `and`, every post must be tested.
  return node.kind === 'or'
    ? { documents: new DocumentSet(block.count), exact: true }
    : { documents: DocumentSet.all(block.count), exact: false };
}

function clauseDocuments(clause: Clause, block: Block): CandidateDocuments {
  const { required, exact, wordQuery, inArea } = queryOf(clause);
  // Search ignores punctuation, so a query of only punctuation matches no post.
  if (wordQuery?.words.length === 0)
    return { documents: new DocumentSet(block.count), exact: true };
  const [first, ...rest] = required;
  if (first === undefined) return { documents: DocumentSet.all(block.count), exact };
  const documents = block.postings(first);
  for (const term of rest) {
    // A word in a script without spaces, such as Chinese, has a term for each character, so there may be many
    // terms. Stops as soon as no document has all terms so far.
    if (documents.isEmpty) return { documents, exact: true };
    documents.intersect(block.postings(term));
  }
  if (exact || block.details === undefined) return { documents, exact };
  if (wordQuery !== undefined)
    return { documents: matchWords(documents, wordQuery, block.details), exact: true };
  if (inArea === undefined) return { documents, exact: false };
  return { documents: locatedIn(block, block.details, inArea), exact: true };
}

interface ClauseQuery extends RequiredTerms {
  readonly wordQuery: WordQuery | undefined;
  readonly inArea: ((position: Position) => boolean) | undefined;
}

/**
 * The query of each clause. Cached, because a search evaluates the same clause in hundreds of blocks of the
 * archive.
 */
const queries = new WeakMap<Clause, ClauseQuery>();

function queryOf(clause: Clause): ClauseQuery {
  return getOrMake(queries, clause, () => {
    const { required, exact } = clauseTerms(clause, SEARCH);
    return {
      required: [...new Set(required)],
      exact,
      wordQuery: exact ? undefined : wordQuery(clause, SEARCH),
      inArea: areaOf(clause),
    };
  });
}

function areaOf(clause: Clause): ((position: Position) => boolean) | undefined {
  if (clause.kind !== 'operator') return undefined;
  const operator: RuleOperator<never> = ruleOperators[clause.name];
  return operator.area?.(clause.value as never);
}

function locatedIn(
  block: Block,
  details: BlockDetails,
  inArea: (position: Position) => boolean,
): DocumentSet {
  const found = new DocumentSet(block.count);
  for (const { document, position, corners } of details.locations())
    if (isPositionIn(inArea, position, corners)) found.add(document);
  return found;
}

/** A phrase or proximity: several words that must be in one string of a post, in a certain order. */
interface WordQuery {
  readonly words: readonly string[];
  readonly prefix: string;
  readonly kinds: readonly TextKind[];
  /** Returns whether a string matches. `tokens` has only the tokens of the string that occur in the query. */
  matches(tokens: readonly string[]): boolean;
}

/** Returns the query for a clause in which the order of words matters; `undefined` for other clauses. */
function wordQuery(clause: Clause, dialect: Dialect): WordQuery | undefined {
  switch (clause.kind) {
    case 'keyword':
    case 'phrase':
      return phraseQuery(clausePhrase(clause, dialect).words, [TEXT, ADDRESS, DISPLAY]);
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

function matchWords(
  posts: DocumentSet,
  { words, prefix, kinds, matches }: WordQuery,
  details: BlockDetails,
): DocumentSet {
  const found = new DocumentSet(posts.size);
  const terms = [...new Set(words)].map(word => ({
    word,
    occurrences: details.occurrences(prefix + word, posts),
  }));
  for (const document of posts.members(0, posts.size)) {
    const texts = new Map<number, string[]>();
    for (const { word, occurrences } of terms)
      for (const occurrence of occurrences.get(document) ?? []) {
        const number = textNumberOf(occurrence);
        if (!kinds.includes(textKindOf(number))) continue;
        getOrMake(texts, number, () => [])[wordIndexOf(occurrence)] = word;
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
