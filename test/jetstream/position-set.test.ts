import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PositionSet } from '../../src/jetstream/position-set.js';

const positions = fc.array(fc.nat(30));
const numbers = (ranges: readonly { from: number; to: number }[]) =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

describe('a set of positions', () => {
  it('knows what was added and what is missing below the highest', () => {
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
        expect(numbers(set.missing())).toEqual(missing);
        expect(set.wholeUntil).toBe(missing[0] ?? next);
        expect(numbers(set.missing(from, end))).toEqual(missing.filter(i => i >= from && i < end));
      }),
    );
  });

  it('has all positions of a range that fills it, however long it is', () => {
    fc.assert(
      fc.property(positions, fc.nat(30), fc.nat(30), (added, from, length) => {
        const to = from + length;
        const set = new PositionSet();
        for (const position of [...added, 60]) set.add(position);
        const missing = numbers(set.missing());
        set.fill({ from, to });
        expect(numbers(set.missing())).toEqual(missing.filter(i => i < from || i > to));
      }),
    );
    const set = new PositionSet();
    set.add(1e15);
    set.fill({ from: 5, to: 1e15 - 1 });
    expect(set.missing()).toEqual([{ from: 0, to: 4 }]);
  });

  it('is the same after JSON', () => {
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
