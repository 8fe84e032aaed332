import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lostWithin, PositionSet, type Range, rangesOf } from '../../src/jetstream/positions.js';

const numbersOf = (ranges: readonly Range[]) =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

const sequences = fc
  .uniqueArray(fc.integer({ min: 1, max: 60 }))
  .map(all => all.toSorted((a, b) => a - b));

describe('the sequences of a stream that a reader has lost', () => {
  it('are the sequences of a range that were not read', () => {
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

  it('are merged into ranges if they are consecutive', () => {
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

const positions = fc.array(fc.nat(30));

describe('a set of message positions', () => {
  it('reports which positions were added, and which are missing below the highest', () => {
    fc.assert(
      fc.property(positions, fc.nat(30), fc.nat(30), (added, from, end) => {
        const set = new PositionSet();
        const model = new Set<number>();
        for (const position of added) {
          expect(set.add(position)).toBe(!model.has(position));
          model.add(position);
        }
        const next = Math.max(-1, ...model) + 1;
        const missing = Array.from({ length: next }, (_, i) => i).filter(i => !model.has(i));
        expect(set.next).toBe(next);
        expect(numbersOf(set.missing())).toEqual(missing);
        expect(set.wholeUntil).toBe(missing[0] ?? next);
        expect(numbersOf(set.missing(from, end))).toEqual(
          missing.filter(i => i >= from && i < end),
        );
      }),
    );
  });

  it('contains all positions of a filled range, however long it is', () => {
    fc.assert(
      fc.property(positions, fc.nat(30), fc.nat(30), (added, from, length) => {
        const to = from + length;
        const set = new PositionSet();
        for (const position of [...added, 60]) set.add(position);
        const missing = numbersOf(set.missing());
        set.fill({ from, to });
        expect(numbersOf(set.missing())).toEqual(missing.filter(i => i < from || i > to));
      }),
    );
    const set = new PositionSet();
    set.add(1e15);
    set.fill({ from: 5, to: 1e15 - 1 });
    expect(set.missing()).toEqual([{ from: 0, to: 4 }]);
  });

  it('is the same after it is saved and restored as JSON', () => {
    fc.assert(
      fc.property(positions, positions, (before, after) => {
        const set = new PositionSet();
        for (const position of before) set.add(position);
        const copy = new PositionSet(JSON.parse(JSON.stringify(set)));
        for (const position of after) expect(copy.add(position)).toBe(set.add(position));
        expect(copy.toJSON()).toEqual(set.toJSON());
      }),
    );
  });
});
