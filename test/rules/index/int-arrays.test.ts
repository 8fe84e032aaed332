import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  grown,
  sharedInts,
  textIn,
  unitsIn,
  unitsOf,
} from '../../../src/rules/index/int-arrays.js';

it('a text is the same after it was units, whatever they are', () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 50 }), units => {
      expect(textIn(unitsOf(units.join('')))).toBe(units.join(''));
    }),
  );
});

describe('integers with room for more', () => {
  it('are the same array where they have it', () => {
    const ints = Int32Array.of(1, 2, 3);
    expect(grown(ints, 3)).toBe(ints);
  });

  it('are otherwise a copy of at least twice the length, with zeros behind', () => {
    const ints = Int32Array.of(1, 2, 3);
    expect([...grown(ints, 4)]).toEqual([1, 2, 3, 0, 0, 0]);
    expect([...grown(ints, 8)]).toEqual([1, 2, 3, 0, 0, 0, 0, 0]);
    expect([...ints]).toEqual([1, 2, 3]);
  });
});

it('units are in the memory of the integers, also of a part of them', () => {
  const ints = sharedInts(4);
  expect(ints.buffer).toBeInstanceOf(SharedArrayBuffer);
  const units = unitsIn(ints.subarray(1, 3));
  expect(units).toHaveLength(4);
  units[0] = 0x61;
  units[1] = 0x62;
  expect(ints[1]).toBe(0x62_0061);
});
