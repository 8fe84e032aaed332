import { clauseTerms } from '../match/clause-terms.js';
import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';

/**
 * A condition that selects posts by their terms, such as `snow`, `#snow` or `lang:en` (see `postTerms`). The
 * condition of a rule selects every post that the rule matches, and possibly other posts.
 */
export type TermCondition =
  | { readonly kind: 'term'; readonly term: string }
  | { readonly kind: 'all'; readonly conditions: readonly TermCondition[] }
  | { readonly kind: 'any'; readonly conditions: readonly TermCondition[] };

/**
 * Returns the condition of a rule: the terms of its clauses, combined like the clauses. Negated clauses are
 * ignored. Returns `undefined` if the rule requires no term. Every post must then be compared with the rule.
 *
 * @example conditionOf(parseRule('snow (has:links OR "new york") -is:retweet').tree, dialectOf('search'))
 * // all of: snow; any of has:links, all of new, york
 */
export function conditionOf(node: RuleNode, dialect: Dialect): TermCondition | undefined {
  switch (node.kind) {
    case 'and': {
      const conditions = conjuncts(node).flatMap(child => conditionOf(child, dialect) ?? []);
      return conditions.length === 0 ? undefined : join('all', conditions);
    }
    case 'or': {
      const conditions = node.nodes.flatMap(child => conditionOf(child, dialect) ?? []);
      return conditions.length < node.nodes.length ? undefined : join('any', conditions);
    }
    case 'not':
      return undefined;
    default: {
      const { required } = clauseTerms(node, dialect);
      if (required.length === 0) return undefined;
      return join(
        'all',
        required.map(term => ({ kind: 'term', term })),
      );
    }
  }
}

function conjuncts(node: RuleNode): readonly RuleNode[] {
  return node.kind === 'and' ? node.nodes.flatMap(conjuncts) : [node];
}

function join(kind: 'all' | 'any', conditions: readonly TermCondition[]): TermCondition {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : { kind, conditions };
}

/**
 * Returns sets of terms. Every post that the condition selects has at least one term of each set, so a rule
 * can be indexed under the terms of any one set. An `all` has the sets of all its conditions. An `any` has
 * one set, which combines the rarest set of each condition.
 */
export function anchorSets(
  condition: TermCondition,
  frequency: (term: string) => number,
): readonly (readonly string[])[] {
  switch (condition.kind) {
    case 'term':
      return [[condition.term]];
    case 'all':
      return condition.conditions.flatMap(part => anchorSets(part, frequency));
    case 'any': {
      const branches = condition.conditions.map(part =>
        rarestSet(anchorSets(part, frequency), frequency),
      );
      return [[...new Set(branches.flat())]];
    }
  }
}

/** @param frequency Estimates the fraction of posts that have a term. */
export function rarestSet(
  sets: readonly (readonly string[])[],
  frequency: (term: string) => number,
): readonly string[] {
  const cost = (terms: readonly string[]) => terms.reduce((sum, term) => sum + frequency(term), 0);
  return sets.reduce((best, set) => (cost(set) < cost(best) ? set : best));
}

export interface Frequencies {
  /** The fraction of posts that have the term, 0 to 1. */
  frequency(term: number): number;
}

/**
 * The sets of terms that rules may be indexed under, stored in one list. Each set is stored as its length
 * followed by its terms. The sets of one rule are adjacent.
 */
export type AnchorSets = Int32Array;

/**
 * Returns an upper bound for the fraction of posts that have any term of a set. The set starts at position
 * `at` of `sets`.
 */
export function costOfSet(sets: AnchorSets, at: number, frequencies: Frequencies): number {
  const length = sets[at]!;
  let cost = 0;
  for (let i = at + 1; i <= at + length; i++) cost += frequencies.frequency(sets[i]!);
  return cost;
}

export function rarestSetAt(
  sets: AnchorSets,
  start: number,
  end: number,
  frequencies: Frequencies,
): number {
  let best = start;
  let cost = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; at += 1 + sets[at]!) {
    const found = costOfSet(sets, at, frequencies);
    if (found >= cost) continue;
    cost = found;
    best = at;
  }
  return best;
}

/**
 * Returns the rarest term among the sets that have only one term, ignoring the set at `current`. Returns -1
 * if there is no such set.
 */
export function secondTerm(
  sets: AnchorSets,
  start: number,
  end: number,
  current: number,
  frequencies: Frequencies,
): number {
  let second = -1;
  let cost = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; at += 1 + sets[at]!) {
    if (at === current || sets[at] !== 1) continue;
    const found = frequencies.frequency(sets[at + 1]!);
    if (found >= cost) continue;
    cost = found;
    second = sets[at + 1]!;
  }
  return second;
}
