import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BytesMap } from '../../../src/post/bytes/bytes-map.js';
import { bySuite } from '../../suite.js';

/**
 * Generates bytes with only a few different values, so that many strings are equal or nearly equal.
 */
const bytes = fc.uint8Array({ maxLength: 4, max: 2 });
const call = fc.record({ bytes, before: bytes, after: bytes, value: fc.option(fc.nat()) });

describe('BytesMap', () => {
  it('returns the last value stored under equal bytes, or undefined', () => {
    let found = 0;
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), calls => {
        const map = new BytesMap<number>();
        const model = new Map<string, number>();
        for (const { bytes, before, after, value } of calls) {
          const whole = Buffer.concat([before, bytes, after]);
          const span = [before.length, before.length + bytes.length] as const;
          const known = map.get(whole, ...span);
          if (known !== undefined) {
            found++;
            expect(known).toBe(model.get(bytes.join()));
          }
          if (value === null) continue;
          map.set(whole, ...span, value);
          model.set(bytes.join(), value);
          expect(map.get(whole, ...span)).toBe(value);
          whole.fill(9);
          expect(map.get(Buffer.from(bytes), 0, bytes.length)).toBe(value);
        }
      }),
      { numRuns: bySuite(50, 200) },
    );
    expect(found).toBeGreaterThan(20);
  });

  it('distinguishes byte strings of equal length whose ends are equal', () => {
    const map = new BytesMap<number>();
    const keys = Array.from({ length: 100 }, (_, index) =>
      Buffer.from(`${String(index).padStart(3)}${'x'.repeat(100)}`),
    );
    keys.forEach((key, index) => {
      map.set(key, 0, key.length, index);
    });
    expect(keys.map(key => map.get(key, 0, key.length))).toEqual([...keys.keys()]);
  });

  it('stores at most 1,024 entries, and none with a long key', () => {
    const map = new BytesMap<number>();
    map.set(Buffer.alloc(1_025), 0, 1_025, 1);
    expect(map.get(Buffer.alloc(1_025), 0, 1_025)).toBeUndefined();
    const keys = Array.from({ length: 1_025 }, (_, index) => Buffer.from(`key ${index}`));
    keys.forEach((key, index) => {
      map.set(key, 0, key.length, index);
    });
    expect(keys.map(key => map.get(key, 0, key.length)).filter(Number.isInteger)).toEqual([1_024]);
  });
});
