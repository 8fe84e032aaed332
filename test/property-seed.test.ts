import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIXED_SEED, propertySeed } from './property-seed.js';

describe('the seed of property-based tests', () => {
  it('is the same number in every run if MILLRACE_SEED is not set', () => {
    expect(propertySeed(undefined)).toBe(FIXED_SEED);
    expect(propertySeed('')).toBe(FIXED_SEED);
  });

  it('is the number in MILLRACE_SEED', () => {
    expect(propertySeed('-1594636146')).toBe(-1594636146);
  });

  it('is chosen by fast-check with MILLRACE_SEED=random', () => {
    expect(propertySeed('random')).toBeUndefined();
  });

  it('causes an error if MILLRACE_SEED is neither a 32-bit integer nor random', () => {
    for (const text of ['today', '1.5', '4294967296', '1e3'])
      expect(() => propertySeed(text)).toThrow('MILLRACE_SEED');
  });

  it('applies to a property that sets no seed', () => {
    expect(fc.readConfigureGlobal().seed).toBe(propertySeed(process.env.MILLRACE_SEED));
  });
});
