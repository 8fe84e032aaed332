import { clauseTerms } from '../../rules/clause-terms.js';
import { dialectOf } from '../../rules/dialect.js';
import { withinBox, withinRadius } from '../../rules/geo.js';
import type { Position } from '../../rules/post-fields.js';
import type { Clause, RuleNode } from '../../rules/tree.js';
import type { Block, BlockDetails } from './block.js';
import { Ordinals } from './ordinals.js';
import { holdingWords, wantedWords } from './wanted-words.js';

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
      return joined(node.nodes, block, (all, next) => all.intersect(next));
    case 'or':
      return joined(node.nodes, block, (all, next) => all.unite(next));
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

function joined(
  nodes: readonly RuleNode[],
  block: Block,
  join: (all: Ordinals, next: Ordinals) => void,
): Candidates {
  const [first, ...rest] = nodes.map(node => candidates(node, block));
  if (first === undefined) return { ordinals: Ordinals.all(block.count), exact: false };
  for (const { ordinals } of rest) join(first.ordinals, ordinals);
  return { ordinals: first.ordinals, exact: first.exact && rest.every(({ exact }) => exact) };
}

function ofClause(clause: Clause, block: Block): Candidates {
  const { required, exact } = clauseTerms(clause, SEARCH);
  const words = exact ? undefined : wantedWords(clause, SEARCH);
  // Nothing but punctuation is in no post of search.
  if (words?.words.length === 0) return { ordinals: new Ordinals(block.count), exact: true };
  const [first, ...rest] = required;
  if (first === undefined) return { ordinals: Ordinals.all(block.count), exact };
  const ordinals = block.postings(first);
  for (const term of rest) ordinals.intersect(block.postings(term));
  if (exact || block.details === undefined) return { ordinals, exact };
  if (words !== undefined)
    return { ordinals: holdingWords(ordinals, words, block.details), exact: true };
  const inArea = areaOf(clause);
  if (inArea === undefined) return { ordinals, exact: false };
  return { ordinals: standingIn(block, block.details, inArea), exact: true };
}

function areaOf(clause: Clause): ((position: Position) => boolean) | undefined {
  if (clause.kind !== 'operator') return undefined;
  if (clause.name === 'point_radius') return withinRadius(clause.value);
  if (clause.name === 'bounding_box') return withinBox(clause.value);
  return undefined;
}

/** By its exact position, or by a place that lies in the area with all its corners. */
function standingIn(
  block: Block,
  details: BlockDetails,
  inArea: (position: Position) => boolean,
): Ordinals {
  const found = new Ordinals(block.count);
  for (const { ordinal, position, corners } of details.spots())
    if (
      (position !== undefined && inArea(position)) ||
      (corners.length > 0 && corners.every(inArea))
    )
      found.add(ordinal);
  return found;
}
