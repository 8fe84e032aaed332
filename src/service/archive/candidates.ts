import type { Position } from '../../activity/post-fields.js';
import { clauseTerms } from '../../rules/match/clause-terms.js';
import { isPositionIn } from '../../rules/operators/area-operator.js';
import type { RequiredTerms, RuleOperator } from '../../rules/operators/operator.js';
import { ruleOperators } from '../../rules/operators/operators.js';
import { dialectOf } from '../../rules/post/dialect.js';
import type { And, Clause, Or, RuleNode } from '../../rules/tree.js';
import type { Block, BlockDetails } from './block.js';
import { Ordinals } from './ordinals.js';
import { holdingWords, type WantedWords, wantedWords } from './wanted-words.js';

/** Posts of a block that a rule of search may match. */
export interface Candidates {
  readonly ordinals: Ordinals;
  /** Whether all of them do: then no post has to be read to know. */
  readonly exact: boolean;
}

const SEARCH = dialectOf('search');

/** What a block's index says of a rule: by the terms that its clauses need and, where it knows more, exactly. */
export function candidates(node: RuleNode, block: Block): Candidates {
  switch (node.kind) {
    case 'and':
    case 'or':
      return joined(node, block);
    case 'not': {
      const { ordinals, exact } = candidates(node.node, block);
      // Of what may match it is not known what does not.
      if (!exact) return { ordinals: Ordinals.all(block.count), exact: false };
      ordinals.invert();
      return { ordinals, exact: true };
    }
    default:
      return ofClause(node, block);
  }
}

function joined(node: And | Or, block: Block): Candidates {
  let exact = true;
  let all: Ordinals | undefined;
  for (const child of node.nodes) {
    const next = candidates(child, block);
    exact &&= next.exact;
    if (all === undefined) all = next.ordinals;
    else if (node.kind === 'and') all.intersect(next.ordinals);
    else all.unite(next.ordinals);
    // What else has to be true changes nothing then.
    if (node.kind === 'and' && all.isEmpty) return { ordinals: all, exact: true };
  }
  return all === undefined
    ? { ordinals: Ordinals.all(block.count), exact: false }
    : { ordinals: all, exact };
}

function ofClause(clause: Clause, block: Block): Candidates {
  const { required, exact, words, inArea } = needsOf(clause);
  // Nothing but punctuation is in no post of search.
  if (words?.words.length === 0) return { ordinals: new Ordinals(block.count), exact: true };
  const [first, ...rest] = required;
  if (first === undefined) return { ordinals: Ordinals.all(block.count), exact };
  const ordinals = block.postings(first);
  for (const term of rest) {
    // A word of a script without spaces has as many terms as characters, and most posts few of them.
    if (ordinals.isEmpty) return { ordinals, exact: true };
    ordinals.intersect(block.postings(term));
  }
  if (exact || block.details === undefined) return { ordinals, exact };
  if (words !== undefined)
    return { ordinals: holdingWords(ordinals, words, block.details), exact: true };
  if (inArea === undefined) return { ordinals, exact: false };
  return { ordinals: standingIn(block, block.details, inArea), exact: true };
}

/** What a clause asks of any block. */
interface Needs extends RequiredTerms {
  /** Where it asks for several words. */
  readonly words: WantedWords | undefined;
  readonly inArea: ((position: Position) => boolean) | undefined;
}

/** A query is asked of hundreds of blocks, and its text is read once. */
const needs = new WeakMap<Clause, Needs>();

function needsOf(clause: Clause): Needs {
  let found = needs.get(clause);
  if (found === undefined) {
    const { required, exact } = clauseTerms(clause, SEARCH);
    found = {
      required: [...new Set(required)],
      exact,
      words: exact ? undefined : wantedWords(clause, SEARCH),
      inArea: areaOf(clause),
    };
    needs.set(clause, found);
  }
  return found;
}

function areaOf(clause: Clause): ((position: Position) => boolean) | undefined {
  if (clause.kind !== 'operator') return undefined;
  const operator: RuleOperator<never> = ruleOperators[clause.name];
  return operator.area?.(clause.value as never);
}

function standingIn(
  block: Block,
  details: BlockDetails,
  inArea: (position: Position) => boolean,
): Ordinals {
  const found = new Ordinals(block.count);
  for (const { ordinal, position, corners } of details.spots())
    if (isPositionIn(inArea, position, corners)) found.add(ordinal);
  return found;
}
