import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IntPool, sizeOf } from '../../../src/rules/index/int-pool.js';

describe('a pool of lists of integers', () => {
  it('keeps what is in each list until it is freed', () => {
    const step = fc.record({ length: fc.integer({ min: 1, max: 40 }), frees: fc.option(fc.nat()) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), steps => {
        const pool = new IntPool();
        const lists: { start: number; length: number; value: number }[] = [];
        for (const [value, { length, frees }] of steps.entries()) {
          const start = pool.allocate(length);
          pool.data.fill(value, start, start + length);
          lists.push({ start, length, value });
          if (frees !== null) {
            const [freed] = lists.splice(frees % lists.length, 1);
            if (freed !== undefined) pool.free(freed.start, freed.length);
          }
        }
        for (const { start, length, value } of lists)
          expect([...pool.data.subarray(start, start + length)]).toEqual(
            new Array<number>(length).fill(value),
          );
      }),
    );
  });

  it('reuses the place of a freed list for one of the same size', () => {
    const pool = new IntPool();
    const start = pool.allocate(5);
    pool.allocate(5);
    pool.free(start, 5);
    expect(pool.allocate(4)).not.toBe(start);
    expect(pool.allocate(8)).toBe(start);
    expect(pool.allocate(8)).not.toBe(start);
  });

  it.each([
    [1, 2],
    [2, 2],
    [3, 4],
    [4, 4],
    [5, 8],
    [1_025, 2_048],
  ])('has room for %i integers in %i', (length, size) => {
    expect(sizeOf(length)).toBe(size);
  });
});
