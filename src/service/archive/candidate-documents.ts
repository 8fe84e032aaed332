import type { Position } from '../../activity/post-fields.js';
import { clauseTerms } from '../../rules/match/clause-terms.js';
import { isPositionIn } from '../../rules/operators/area-operator.js';
import type { RequiredTerms, RuleOperator } from '../../rules/operators/operator.js';
import { ruleOperators } from '../../rules/operators/operators.js';
import { dialectOf } from '../../rules/post/dialect.js';
import type { And, Clause, Or, RuleNode } from '../../rules/tree.js';
import type { Block, BlockDetails } from './block.js';
import { DocumentSet } from './document-set.js';
import { matchWords, type WordQuery, wordQuery } from './word-query.js';

/** The documents of a block that a search rule may match. */
export interface CandidateDocuments {
  readonly documents: DocumentSet;
  /** Whether all of them match, so that no post needs to be tested. */
  readonly exact: boolean;
}

const SEARCH = dialectOf('search');

/**
 * Evaluates a rule on the index of a block: by the terms that its clauses require, and exactly if word
 * occurrences or locations of the posts decide.
 */
export function candidateDocuments(node: RuleNode, block: Block): CandidateDocuments {
  switch (node.kind) {
    case 'and':
    case 'or':
      return joined(node, block);
    case 'not': {
      const { documents, exact } = candidateDocuments(node.node, block);
      // A candidate may turn out not to match, so no document can be excluded.
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
    // No other clause can add a document.
    if (node.kind === 'and' && all.isEmpty) return { documents: all, exact: true };
  }
  return all === undefined
    ? { documents: DocumentSet.all(block.count), exact: false }
    : { documents: all, exact };
}

function clauseDocuments(clause: Clause, block: Block): CandidateDocuments {
  const { required, exact, wordQuery, inArea } = queryOf(clause);
  // Search ignores punctuation, so a text of only punctuation matches no post.
  if (wordQuery?.words.length === 0)
    return { documents: new DocumentSet(block.count), exact: true };
  const [first, ...rest] = required;
  if (first === undefined) return { documents: DocumentSet.all(block.count), exact };
  const documents = block.postings(first);
  for (const term of rest) {
    // A word of a script without spaces has a term for each character: stops at the first without
    // documents.
    if (documents.isEmpty) return { documents, exact: true };
    documents.intersect(block.postings(term));
  }
  if (exact || block.details === undefined) return { documents, exact };
  if (wordQuery !== undefined)
    return { documents: matchWords(documents, wordQuery, block.details), exact: true };
  if (inArea === undefined) return { documents, exact: false };
  return { documents: locatedIn(block, block.details, inArea), exact: true };
}

/** A clause as blocks evaluate it. */
interface ClauseQuery extends RequiredTerms {
  /** For a clause of several words. */
  readonly wordQuery: WordQuery | undefined;
  readonly inArea: ((position: Position) => boolean) | undefined;
}

/** Caches the tokenised text of a clause, which hundreds of blocks evaluate. */
const queries = new WeakMap<Clause, ClauseQuery>();

function queryOf(clause: Clause): ClauseQuery {
  let found = queries.get(clause);
  if (found === undefined) {
    const { required, exact } = clauseTerms(clause, SEARCH);
    found = {
      required: [...new Set(required)],
      exact,
      wordQuery: exact ? undefined : wordQuery(clause, SEARCH),
      inArea: areaOf(clause),
    };
    queries.set(clause, found);
  }
  return found;
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
