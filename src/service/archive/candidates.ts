import { planOf, type TermPlan } from '../../rules/required-terms.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Block } from './block.js';
import { Ordinals } from './ordinals.js';

/** Posts of a block that a rule of search may match. */
export interface Candidates {
  readonly ordinals: Ordinals;
  /** Whether all of them do: then no post has to be read to know. */
  readonly exact: boolean;
}

/** Makes a plan of a rule once, to be carried out on any number of blocks. */
export function candidatesOf(tree: RuleNode): (block: Block) => Candidates {
  const { plan, exact } = planOf(tree, 'search');
  if (plan === undefined) return block => ({ ordinals: Ordinals.all(block.count), exact });
  return block => ({ ordinals: select(plan, block), exact });
}

function select(plan: TermPlan, block: Block): Ordinals {
  switch (plan.kind) {
    case 'term':
      return block.postings(plan.term);
    case 'all':
      return reduced(plan.plans, block, (all, next) => all.intersect(next));
    case 'any':
      return reduced(plan.plans, block, (all, next) => all.unite(next));
    case 'not': {
      const ordinals = select(plan.plan, block);
      ordinals.invert();
      return ordinals;
    }
  }
}

function reduced(
  plans: readonly TermPlan[],
  block: Block,
  join: (all: Ordinals, next: Ordinals) => void,
): Ordinals {
  const [first, ...rest] = plans;
  if (first === undefined) return new Ordinals(block.count);
  const all = select(first, block);
  for (const plan of rest) join(all, select(plan, block));
  return all;
}
