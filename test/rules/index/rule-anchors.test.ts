import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Postings } from '../../../src/rules/index/rule-anchors.js';
import { bySuite } from '../../suite.js';

describe('Postings, the lists of rules by term,', () => {
  it('contain the rules of each term after any additions and removals', () => {
    const step = fc.record({ adds: fc.boolean(), term: fc.nat(5), rule: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), steps => {
        const postings = new Postings();
        const model = new Map<number, number[]>();
        for (const { adds, term, rule } of steps) {
          const rules = model.get(term) ?? [];
          if (adds) postings.add(term * 700, rule, rule + 100);
          else postings.remove(term * 700, rule);
          model.set(term, adds ? [...rules, rule] : rules.filter(other => other !== rule));
        }
        for (const [term, rules] of model) {
          const start = postings.lists[2 * 700 * term] ?? 0;
          const end = start + (postings.lists[2 * 700 * term + 1] ?? 0);
          expect([...postings.data.subarray(start, end)]).toEqual(
            rules.flatMap(rule => [rule, rule + 100]),
          );
        }
      }),
      { numRuns: bySuite(25, 1_200) },
    );
  });
});
