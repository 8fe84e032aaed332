import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOfSet, rarestSetAt, secondTerm } from '../../../src/rules/index/anchor-sets.js';

const arbitrarySets = fc.record({
  before: fc.array(fc.nat(9), { maxLength: 3 }),
  sets: fc.array(fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 5,
  }),
  after: fc.array(fc.nat(9), { maxLength: 3 }),
  // These are whole numbers, so that their sums are exact.
  ratios: fc.array(fc.nat(20), { minLength: 10, maxLength: 10 }),
});

function encoded({ before, sets, after, ratios }: Sets) {
  const positions: number[] = [];
  const ints = [...before];
  for (const set of sets) {
    positions.push(ints.length);
    ints.push(set.length, ...set);
  }
  const end = ints.length;
  return {
    ints: Int32Array.of(...ints, ...after),
    positions,
    start: before.length,
    end,
    frequencies: { frequency: (term: number) => ratios[term]! },
  };
}

type Sets = typeof arbitrarySets extends fc.Arbitrary<infer Value> ? Value : never;

const costIn = ({ ratios }: Sets, set: readonly number[]) =>
  set.reduce((sum, term) => sum + ratios[term]!, 0);

describe('the choice of terms by which a rule is indexed', () => {
  it('adds up the frequencies of a set of terms as the cost of the set', () => {
    fc.assert(
      fc.property(arbitrarySets, given => {
        const { ints, positions, frequencies } = encoded(given);
        for (const [index, set] of given.sets.entries())
          expect(costOfSet(ints, positions[index]!, frequencies)).toBe(costIn(given, set));
      }),
    );
  });

  it('selects the first set with the lowest cost', () => {
    fc.assert(
      fc.property(arbitrarySets, given => {
        const { ints, positions, start, end, frequencies } = encoded(given);
        const costs = given.sets.map(set => costIn(given, set));
        expect(rarestSetAt(ints, start, end, frequencies)).toBe(
          positions[costs.indexOf(Math.min(...costs))],
        );
      }),
    );
  });

  it('selects the rarest single term outside the current set as the second term', () => {
    fc.assert(
      fc.property(arbitrarySets, fc.nat(), (given, place) => {
        const { ints, positions, start, end, frequencies } = encoded(given);
        const current = place % positions.length;
        const single = given.sets
          .filter((set, index) => index !== current && set.length === 1)
          .map(([term]) => term!);
        const least = Math.min(...single.map(term => given.ratios[term]!));
        expect(secondTerm(ints, start, end, positions[current]!, frequencies)).toBe(
          single.find(term => given.ratios[term] === least) ?? -1,
        );
      }),
    );
  });
});
