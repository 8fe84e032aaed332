import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lostWithin, type Range, rangesOf } from '../../src/jetstream/lost-sequences.js';

const numbersOf = (ranges: readonly Range[]) =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

const sequences = fc
  .uniqueArray(fc.integer({ min: 1, max: 60 }))
  .map(all => all.toSorted((a, b) => a - b));

describe('lost sequences', () => {
  it('are those of a range that were not read', () => {
    fc.assert(
      fc.property(
        sequences,
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (read, from, to) => {
          const lost = lostWithin(
            from,
            to,
            read.filter(sequence => sequence >= from),
          );
          const expected = Array.from(
            { length: Math.max(0, to - from + 1) },
            (_, i) => from + i,
          ).filter(sequence => !read.includes(sequence));
          expect(numbersOf(lost)).toEqual(expected);
        },
      ),
    );
  });

  it('are joined where they follow each other', () => {
    fc.assert(
      fc.property(sequences, all => {
        const ranges = rangesOf(all);
        expect(numbersOf(ranges)).toEqual(all);
        for (const [index, { from }] of ranges.entries())
          if (index > 0) expect(from).toBeGreaterThan(ranges[index - 1]!.to + 1);
      }),
    );
  });
});
