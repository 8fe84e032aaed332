import { clauseTerms } from '../match/clause-terms.js';
import type { RuleProduct } from '../post/dialect.js';
import { type Dialect, dialectOf } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { usualFrequency } from './term-frequency.js';

/**
 * What an index can say about a rule, over the terms of `PostTerms.terms`: the posts that the plan
 * selects are all matches and, unless the plan is exact, others beside them.
 */
export type TermPlan =
  | { readonly kind: 'term'; readonly term: string }
  | { readonly kind: 'all'; readonly plans: readonly TermPlan[] }
  | { readonly kind: 'any'; readonly plans: readonly TermPlan[] }
  /** Stands only within an `all`, beside a plan that is not a `not`. */
  | { readonly kind: 'not'; readonly plan: TermPlan };

export interface PlannedRule {
  /** `undefined` where nothing is known: every post is a candidate. */
  readonly plan: TermPlan | undefined;
  /** Whether the plan selects matches only, so that no post has to be looked at. */
  readonly exact: boolean;
}

/**
 * The plan of a rule: terms joined as the rule joins its clauses. A negation is part of it only
 * where its own plan is exact: leaving out a candidate too many would lose a match.
 *
 * @example planOf(rules.parse('snow (has:links OR "new york") -is:retweet').tree, 'search')
 * // all of: snow; any of has:links, all of new, york; not is:retweet. Not exact: a phrase is more.
 */
export function planOf(tree: RuleNode, product: RuleProduct): PlannedRule {
  return planTree(tree, dialectOf(product));
}

export function planTree(node: RuleNode, dialect: Dialect): PlannedRule {
  switch (node.kind) {
    case 'and':
      return planAnd(conjuncts(node), dialect);
    case 'or': {
      const planned = node.nodes.map(child => planTree(child, dialect));
      const plans = planned.flatMap(({ plan }) => plan ?? []);
      if (plans.length < planned.length) return { plan: undefined, exact: false };
      return { plan: join('any', plans), exact: planned.every(({ exact }) => exact) };
    }
    case 'not':
      return { plan: undefined, exact: false };
    default: {
      const { required, exact } = clauseTerms(node, dialect);
      if (required.length === 0) return { plan: undefined, exact: false };
      return {
        plan: join(
          'all',
          required.map(term => ({ kind: 'term', term })),
        ),
        exact,
      };
    }
  }
}

function planAnd(nodes: readonly RuleNode[], dialect: Dialect): PlannedRule {
  const positive = nodes.filter(node => node.kind !== 'not');
  const planned = positive.map(node => planTree(node, dialect));
  const plans = planned.flatMap(({ plan }) => plan ?? []);
  if (plans.length === 0) return { plan: undefined, exact: false };
  const negated = nodes
    .filter(node => node.kind === 'not')
    .map(({ node }) => planTree(node, dialect));
  const excluded = negated.flatMap(({ plan, exact }): TermPlan[] =>
    exact && plan !== undefined ? [{ kind: 'not', plan }] : [],
  );
  return {
    plan: join('all', [...plans, ...excluded]),
    exact: [...planned, ...negated].every(({ exact }) => exact),
  };
}

/** The nodes that all have to match, through `and`s within `and`s. */
function conjuncts(node: RuleNode): readonly RuleNode[] {
  return node.kind === 'and' ? node.nodes.flatMap(conjuncts) : [node];
}

function join(kind: 'all' | 'any', plans: readonly TermPlan[]): TermPlan {
  const [only] = plans;
  return plans.length === 1 && only !== undefined ? only : { kind, plans };
}

/**
 * The cheapest terms such that every match has at least one of them, or `undefined` where no terms
 * are known to be required. `frequency` estimates how many of all posts have a term, 0 to 1.
 *
 * @example requiredTerms(rules.parse('snow (sledge OR sleigh)').tree, 'search') // ['sledge', 'sleigh']
 */
export function requiredTerms(
  tree: RuleNode,
  product: RuleProduct,
  frequency: (term: string) => number = usualFrequency,
): readonly string[] | undefined {
  const { plan } = planOf(tree, product);
  if (plan === undefined) return undefined;
  return cheapest(anchorSets(plan, frequency), frequency);
}

/**
 * What a rule may be filed under: every post that the plan selects has at least one term of each
 * set. There is a set for each part that all matches have; of an `any` that is all of its branches
 * by their cheapest.
 */
export function anchorSets(
  plan: TermPlan,
  frequency: (term: string) => number,
): readonly (readonly string[])[] {
  switch (plan.kind) {
    case 'term':
      return [[plan.term]];
    case 'all':
      return plan.plans.flatMap(part => anchorSets(part, frequency));
    case 'any': {
      const branches = plan.plans.map(part => cheapest(anchorSets(part, frequency), frequency));
      return [[...new Set(branches.flat())]];
    }
    case 'not':
      return [];
  }
}

function cheapest(
  sets: readonly (readonly string[])[],
  frequency: (term: string) => number,
): readonly string[] {
  const cost = (terms: readonly string[]) => terms.reduce((sum, term) => sum + frequency(term), 0);
  return sets.reduce((best, set) => (cost(set) < cost(best) ? set : best));
}
