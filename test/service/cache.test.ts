import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WeightedCache } from '../../src/service/cache.js';

test('a cache keeps the most recently used values up to its maximum weight, and always the newest value', () => {
  const use = fc.record({
    key: fc.integer({ min: 0, max: 9 }),
    weight: fc.integer({ min: 1, max: 8 }),
    isDeleted: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(use), fc.integer({ min: 1, max: 20 }), (uses, maxWeight) => {
      const cache = new WeightedCache<number, number>(maxWeight);
      const recent: { key: number; weight: number }[] = [];
      for (const { key, weight, isDeleted } of uses) {
        const at = recent.findIndex(entry => entry.key === key);
        let made = false;
        const value = cache.get(key, () => {
          made = true;
          return { value: key, weight };
        });
        expect(value).toBe(key);
        expect(made).toBe(at === -1);
        recent.push(at === -1 ? { key, weight } : recent.splice(at, 1)[0]!);
        const total = () => recent.reduce((sum, entry) => sum + entry.weight, 0);
        while (recent.length > 1 && total() > maxWeight) recent.shift();
        if (!isDeleted) continue;
        cache.delete(key);
        recent.pop();
      }
    }),
  );
});
