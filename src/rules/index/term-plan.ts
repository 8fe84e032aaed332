import { clauseTerms } from '../match/clause-terms.js';
import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';

/**
 * A selection of posts by their terms (`postTerms`). It selects every match of the rule and, unless the
 * plan is exact, other posts too.
 */
export type TermPlan =
  | { readonly kind: 'term'; readonly term: string }
  | { readonly kind: 'all'; readonly plans: readonly TermPlan[] }
  | { readonly kind: 'any'; readonly plans: readonly TermPlan[] }
  /** Only within an `all` that also has a plan other than `not`. */
  | { readonly kind: 'not'; readonly plan: TermPlan };

export interface PlannedRule {
  /** `undefined` if no term is required: every post is a candidate. */
  readonly plan: TermPlan | undefined;
  /** Whether the plan selects only matches, so that no post needs to be tested. */
  readonly exact: boolean;
}

/**
 * The plan of a rule: terms combined as the rule combines its clauses. A negation is part of it only if
 * its plan is exact: otherwise, excluding a candidate could lose a match.
 *
 * @example planTree(parseRule('snow (has:links OR "new york") -is:retweet').tree, dialectOf('search'))
 * // all of: snow; any of has:links, all of new, york; not is:retweet. Not exact, because of the
 * phrase.
 */
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

/** The nodes that must all match, including those of nested `and`s. */
function conjuncts(node: RuleNode): readonly RuleNode[] {
  return node.kind === 'and' ? node.nodes.flatMap(conjuncts) : [node];
}

function join(kind: 'all' | 'any', plans: readonly TermPlan[]): TermPlan {
  const [only] = plans;
  return plans.length === 1 && only !== undefined ? only : { kind, plans };
}

/**
 * The sets of terms that a rule may be indexed under: every post that the plan selects has at least one
 * term of each set. An `all` has the sets of its parts; an `any` has one set, the rarest of each
 * branch.
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
      const branches = plan.plans.map(part => rarestSet(anchorSets(part, frequency), frequency));
      return [[...new Set(branches.flat())]];
    }
    case 'not':
      return [];
  }
}

/**
 * The set of which the fewest posts have a term. `frequency` estimates the fraction of posts with a
 * term.
 */
export function rarestSet(
  sets: readonly (readonly string[])[],
  frequency: (term: string) => number,
): readonly string[] {
  const cost = (terms: readonly string[]) => terms.reduce((sum, term) => sum + frequency(term), 0);
  return sets.reduce((best, set) => (cost(set) < cost(best) ? set : best));
}
