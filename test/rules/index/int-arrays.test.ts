import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allocatedSize,
  grown,
  IntPool,
  sharedInts,
  textIn,
  unitsIn,
  unitsOf,
} from '../../../src/rules/index/int-arrays.js';

it('any string is the same after conversion to UTF-16 units and back', () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 50 }), units => {
      expect(textIn(unitsOf(units.join('')))).toBe(units.join(''));
    }),
  );
});

describe('grown()', () => {
  it('returns the same array if it is long enough', () => {
    const ints = Int32Array.of(1, 2, 3);
    expect(grown(ints, 3)).toBe(ints);
  });

  it('returns a zero-filled copy of at least twice the length if the array is too short', () => {
    const ints = Int32Array.of(1, 2, 3);
    expect([...grown(ints, 4)]).toEqual([1, 2, 3, 0, 0, 0]);
    expect([...grown(ints, 8)]).toEqual([1, 2, 3, 0, 0, 0, 0, 0]);
    expect([...ints]).toEqual([1, 2, 3]);
  });
});

it('unitsIn returns a 16-bit view of the memory of an integer array, even of a subarray', () => {
  const ints = sharedInts(4);
  expect(ints.buffer).toBeInstanceOf(SharedArrayBuffer);
  const units = unitsIn(ints.subarray(1, 3));
  expect(units).toHaveLength(4);
  units[0] = 0x61;
  units[1] = 0x62;
  expect(ints[1]).toBe(0x62_0061);
});

describe('IntPool', () => {
  it('keeps each list unchanged until it is freed', () => {
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

  it('reuses the memory of a freed list for a list of the same size', () => {
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
  ])('stores a list of %i integers in a block of %i', (length, size) => {
    expect(allocatedSize(length)).toBe(size);
  });
});
