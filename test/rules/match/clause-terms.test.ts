import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clauseTerms } from '../../../src/rules/match/clause-terms.js';
import { compileClause } from '../../../src/rules/match/compile-rule.js';
import { postTerms } from '../../../src/rules/operators/post-terms.js';
import { dialectOf } from '../../../src/rules/post/dialect.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import type { Clause, RuleNode } from '../../../src/rules/tree.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule } from '../arbitrary-rule.js';
import { arbitraryActivity, PRODUCTS, VOCABULARY } from './arbitrary-matching-post.js';

function clausesIn(node: RuleNode): readonly Clause[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(clausesIn);
    case 'not':
      return clausesIn(node.node);
    default:
      return [node];
  }
}

it.each(PRODUCTS)(
  'clauseTerms returns terms that all matching posts have, and no other posts if they are exact, for %s',
  product => {
    const seen = { exact: 0, matched: 0, differs: 0 };
    fc.assert(
      fc.property(arbitraryRule(VOCABULARY), arbitraryActivity(), (tree, activity) => {
        const post = rulePost(activity, product);
        const terms = postTerms(post);
        for (const clause of clausesIn(tree)) {
          const { required, exact } = clauseTerms(clause, dialectOf(product));
          const matched = compileClause(clause, dialectOf(product))(post);
          const hasTerms = required.every(term => terms.has(term));
          if (matched) expect(hasTerms).toBe(true);
          if (exact) expect(matched).toBe(hasTerms);
          seen.matched += matched ? 1 : 0;
          seen.exact += exact ? 1 : 0;
          seen.differs += hasTerms && !matched ? 1 : 0;
        }
      }),
      { numRuns: bySuite(250, 1_000) },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(bySuite(8, 30));
  },
);
