import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DocumentSet } from '../../../src/service/archive/block.js';

const sets = fc.integer({ min: 1, max: 200 }).chain(size =>
  fc.record({
    size: fc.constant(size),
    a: fc.uniqueArray(fc.nat(size - 1)),
    b: fc.uniqueArray(fc.nat(size - 1)),
    start: fc.nat(size),
    end: fc.nat(size),
  }),
);

test('DocumentSet behaves like a Set of numbers', () => {
  fc.assert(
    fc.property(sets, ({ size, a, b, start, end }) => {
      const make = (members: readonly number[]) => {
        const set = new DocumentSet(size);
        for (const member of members) set.add(member);
        return set;
      };
      const all = Array.from({ length: size }, (_, i) => i);
      const members = (set: DocumentSet) => [...set.members(0, size)];
      const sorted = (list: readonly number[]) => list.toSorted((x, y) => x - y);

      expect(members(make(a))).toEqual(sorted(a));
      expect(all.filter(i => make(a).has(i))).toEqual(sorted(a));
      expect(members(DocumentSet.all(size))).toEqual(all);
      const [both, either, not] = [make(a), make(a), make(a)];
      both.intersect(make(b));
      either.unite(make(b));
      not.invert();
      expect(members(both)).toEqual(sorted(a.filter(i => b.includes(i))));
      expect(members(either)).toEqual(all.filter(i => a.includes(i) || b.includes(i)));
      expect(members(not)).toEqual(all.filter(i => !a.includes(i)));
      const within = sorted(a).filter(i => i >= start && i < end);
      expect([...make(a).members(start, end)]).toEqual(within);
      expect(make(a).count(start, end)).toBe(within.length);
    }),
  );
});
